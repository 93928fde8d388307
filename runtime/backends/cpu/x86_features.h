#pragma once

// Which of our instruction sets (toolchains/cmake/LazyrtBuild.cmake, lazyrt_for_isa) this x86-64
// processor and its operating system support.

#include <cpuid.h>

#include <atomic>
#include <cstdint>

#include "runtime/backends/cpu/vector_ops.h"

namespace lazyrt {

/// The registers that the operating system saves, as XGETBV reports them: bits 6 are those of AVX,
/// 0xe6 those of AVX-512. REQUIRES: OSXSAVE.
inline unsigned saved_registers() {
  unsigned low = 0, high = 0;
  __asm__("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return low;
}

inline VectorIsa detect_x86_isa() {
  constexpr unsigned kPlain = bit_FMA | bit_F16C | bit_OSXSAVE | bit_AVX | bit_AES | bit_PCLMUL;
  constexpr unsigned kWide = bit_AVX2 | bit_BMI | bit_BMI2;
  constexpr unsigned kWidest =
      bit_AVX512F | bit_AVX512BW | bit_AVX512DQ | bit_AVX512VL | bit_AVX512CD;
  constexpr unsigned kLzcnt = 1u << 5;  // of leaf 0x80000001
  unsigned a = 0, b = 0, c = 0, d = 0;
  if (!__get_cpuid(1, &a, &b, &c, &d) || (c & kPlain) != kPlain) return VectorIsa::kBaseline;
  if (!__get_cpuid(0x80000001u, &a, &b, &c, &d) || (c & kLzcnt) == 0) return VectorIsa::kBaseline;
  const unsigned saved = saved_registers();
  if (!__get_cpuid_count(7, 0, &a, &b, &c, &d)) return VectorIsa::kBaseline;
  if ((b & kWide) != kWide || (saved & 6u) != 6u) return VectorIsa::kBaseline;
  const bool widest = (b & kWidest) == kWidest && (saved & 0xe6u) == 0xe6u;
  return widest ? VectorIsa::kAvx512 : VectorIsa::kAvx2;
}

/// Returns the widest instruction set. The result is kept, because a virtual machine traps CPUID.
inline VectorIsa best_x86_isa() {
  constexpr uint8_t kUnknown = 0xff;
  static std::atomic<uint8_t> known{kUnknown};
  uint8_t isa = known.load(std::memory_order_relaxed);
  if (isa == kUnknown) {
    isa = static_cast<uint8_t>(detect_x86_isa());
    known.store(isa, std::memory_order_relaxed);
  }
  return static_cast<VectorIsa>(isa);
}

}  // namespace lazyrt
