#include "tests/cortex_m/stack.h"

#include <cstdint>

extern "C" uint32_t lazyrt_stack_begin[], lazyrt_stack_end[];

namespace lazyrt::test {
namespace {

constexpr uint32_t kPaint = 0xA5C3960F;

}  // namespace

__attribute__((noinline)) void paint_stack() {
  const auto* top = static_cast<const uint32_t*>(__builtin_frame_address(0)) - 16;
  for (volatile uint32_t* word = lazyrt_stack_begin; word < top; ++word) *word = kPaint;
}

size_t stack_bytes_used() {
  const volatile uint32_t* word = lazyrt_stack_begin;
  while (word < lazyrt_stack_end && *word == kPaint) ++word;
  return static_cast<size_t>(lazyrt_stack_end - word) * sizeof(uint32_t);
}

}  // namespace lazyrt::test
