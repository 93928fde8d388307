// The two ends of a program under a debugger or QEMU: they become its exit code.

#include "platforms/baremetal/semihosting.h"

extern "C" {

[[noreturn]] void lazyrt_main_ended(int code) { lazyrt::semihosting::end_program(code); }

[[noreturn]] void lazyrt_unexpected_exception() {
  lazyrt::semihosting::write("an exception of the processor: ");
  lazyrt::semihosting::write(lazyrt::semihosting::task());
  lazyrt::semihosting::write("\n");
  lazyrt::semihosting::end_program(70);
}

}  // extern "C"
