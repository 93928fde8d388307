// From reset to main: Cortex-M with a floating-point unit. The linker script (boards/) says where
// memory is.

#include <cstddef>
#include <cstdint>
#include <cstring>

int main();

extern "C" {

extern uint32_t lazyrt_stack_end[];
extern uint8_t lazyrt_data_begin[], lazyrt_data_end[], lazyrt_data_image[];
extern uint8_t lazyrt_bss_begin[], lazyrt_bss_end[];
using Constructor = void (*)();
extern const Constructor lazyrt_constructors_begin[], lazyrt_constructors_end[];

/// Called when main returns; a program may define its own.
__attribute__((weak, noreturn)) void lazyrt_main_ended(int) {
  while (true) asm volatile("wfi");
}

/// Called for a fault, or an interrupt without a handler; a program may define its own.
__attribute__((weak, noreturn)) void lazyrt_unexpected_exception() {
  while (true) asm volatile("wfi");
}

[[noreturn]] void lazyrt_reset() {
  auto* const access_control = reinterpret_cast<volatile uint32_t*>(0xE000ED88);
  *access_control = *access_control | 0xFu << 20;  // the floating-point unit may be used
  asm volatile("dsb\n isb" ::: "memory");
  std::memcpy(lazyrt_data_begin, lazyrt_data_image,
              static_cast<size_t>(lazyrt_data_end - lazyrt_data_begin));
  std::memset(lazyrt_bss_begin, 0, static_cast<size_t>(lazyrt_bss_end - lazyrt_bss_begin));
  for (const Constructor* c = lazyrt_constructors_begin; c != lazyrt_constructors_end; ++c) (*c)();
  lazyrt_main_ended(main());
}

// libgcc's 64-bit divisions refer to these, which would bring in its unwinder.
void __aeabi_unwind_cpp_pr0() {}
void __aeabi_unwind_cpp_pr1() {}

// The vector table up to SysTick. Interrupts stay disabled until the application installs a table
// of its own.
struct VectorTable {
  uint32_t* stack;
  void (*handlers[15])();
};
extern const VectorTable lazyrt_vectors;
__attribute__((section(".vectors"), used)) const VectorTable lazyrt_vectors = {
    lazyrt_stack_end,
    {lazyrt_reset, lazyrt_unexpected_exception, lazyrt_unexpected_exception,
     lazyrt_unexpected_exception, lazyrt_unexpected_exception, lazyrt_unexpected_exception,
     lazyrt_unexpected_exception, lazyrt_unexpected_exception, lazyrt_unexpected_exception,
     lazyrt_unexpected_exception, lazyrt_unexpected_exception, lazyrt_unexpected_exception,
     lazyrt_unexpected_exception, lazyrt_unexpected_exception, lazyrt_unexpected_exception}};

}  // extern "C"
