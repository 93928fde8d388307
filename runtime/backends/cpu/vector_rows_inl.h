// Loops over rows of float32 in vectors, for files that are compiled once per instruction set: the
// including file defines LAZYRT_ISA, the namespace they live in. Nothing there may call an inline
// function that other files use too, or the linker could keep that file's copy of it.

#include "runtime/backends/cpu/vector_math_inl.h"

namespace lazyrt {
namespace LAZYRT_ISA {
namespace {

// Replaces the vector form of a function that has none.
constexpr struct ScalarOnly {
} scalar_only;

HWY_INLINE V load(const float* p) { return hn::LoadU(D(), p); }
HWY_INLINE void store(V v, float* p) { hn::StoreU(v, D(), p); }

// The first n elements, n < Lanes; the other lanes are `fill`.
HWY_INLINE V load_tail(const float* p, size_t n, float fill) {
#if HWY_TARGET <= HWY_AVX2
  const auto mask = hn::FirstN(D(), n);
  return hn::IfThenElse(mask, hn::MaskedLoad(mask, D(), p), set1(fill));
#else
  HWY_ALIGN float lanes[HWY_MAX_BYTES / sizeof(float)];
  for (size_t i = 0; i < hn::Lanes(D()); ++i) lanes[i] = i < n ? p[i] : fill;
  return hn::Load(D(), lanes);
#endif
}
HWY_INLINE void store_tail(V v, float* p, size_t n) {
#if HWY_TARGET <= HWY_AVX2
  hn::BlendedStore(v, hn::FirstN(D(), n), D(), p);
#else
  HWY_ALIGN float lanes[HWY_MAX_BYTES / sizeof(float)];
  hn::Store(v, D(), lanes);
  for (size_t i = 0; i < n; ++i) p[i] = lanes[i];
#endif
}

// y[i] = f(x[i]) in vectors, two at a time.
template <class F>
HWY_INLINE void map(const float* x, float* y, size_t n, F f) {
  const size_t lanes = hn::Lanes(D());
  size_t i = 0;
  for (; i + 2 * lanes <= n; i += 2 * lanes) {
    const V a = f(load(x + i));
    const V b = f(load(x + i + lanes));
    store(a, y + i);
    store(b, y + i + lanes);
  }
  for (; i + lanes <= n; i += lanes) store(f(load(x + i)), y + i);
  if (i < n) store_tail(f(load_tail(x + i, n - i, 0.0f)), y + i, n - i);
}

template <class F>
HWY_INLINE void map2(const float* a, const float* b, float* y, size_t n, F f) {
  const size_t lanes = hn::Lanes(D());
  size_t i = 0;
  for (; i + 2 * lanes <= n; i += 2 * lanes) {
    const V first = f(load(a + i), load(b + i));
    const V second = f(load(a + i + lanes), load(b + i + lanes));
    store(first, y + i);
    store(second, y + i + lanes);
  }
  for (; i + lanes <= n; i += lanes) store(f(load(a + i), load(b + i)), y + i);
  if (i == n) return;
  const size_t rest = n - i;
  store_tail(f(load_tail(a + i, rest, 1.0f), load_tail(b + i, rest, 1.0f)), y + i, rest);
}

}  // namespace
}  // namespace LAZYRT_ISA
}  // namespace lazyrt
