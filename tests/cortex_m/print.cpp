#include "tests/cortex_m/print.h"

#include <cstdarg>
#include <cstdio>

#include "platforms/baremetal/semihosting.h"

namespace lazyrt::test {

void print(const char* format, ...) {
  char text[400];
  va_list args;
  va_start(args, format);
  vsnprintf(text, sizeof(text), format, args);
  va_end(args);
  semihosting::write(text);
}

}  // namespace lazyrt::test
