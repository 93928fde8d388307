// Asks the heap that every firmware here is linked with, by the way that its argument names.

#include <cstdlib>
#include <cstring>

#include "platforms/baremetal/semihosting.h"
#include "tests/cortex_m/print.h"

namespace {

void* volatile kept = nullptr;

}  // namespace

int main() {
  char way[32] = {};
  lazyrt::semihosting::command_line(way, sizeof(way));
  if (std::strcmp(way, "malloc") == 0) kept = std::malloc(8);
  if (std::strcmp(way, "calloc") == 0) kept = std::calloc(2, 4);
  if (std::strcmp(way, "new") == 0) kept = new int[2];
  lazyrt::test::print("went on\n");
  return 0;
}
