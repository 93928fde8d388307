#include "tests/cortex_m/print.h"

#include <cstdarg>
#include <cstddef>

#include "platforms/baremetal/semihosting.h"

namespace lazyrt::test {
namespace {

/// A line while it is made; what is too long is cut.
class Line {
 public:
  void add(char c) {
    if (used_ < sizeof(text_) - 1) text_[used_++] = c;
  }
  void add(const char* text) {
    for (; *text != '\0'; ++text) add(*text);
  }
  void add(unsigned number) {
    if (number >= 10) add(number / 10);
    add(static_cast<char>('0' + number % 10));
  }
  const char* text() {
    text_[used_] = '\0';
    return text_;
  }

 private:
  char text_[400];
  size_t used_ = 0;
};

}  // namespace

void print(const char* format, ...) {
  Line line;
  va_list args;
  va_start(args, format);
  for (const char* at = format; *at != '\0'; ++at) {
    if (*at != '%') {
      line.add(*at);
      continue;
    }
    ++at;
    if (*at == 's') {
      line.add(va_arg(args, const char*));
    } else if (*at == 'u') {
      line.add(va_arg(args, unsigned));
    } else {
      const int number = va_arg(args, int);
      if (number < 0) line.add('-');
      line.add(number < 0 ? 0U - static_cast<unsigned>(number) : static_cast<unsigned>(number));
    }
  }
  va_end(args);
  semihosting::write(line.text());
}

}  // namespace lazyrt::test
