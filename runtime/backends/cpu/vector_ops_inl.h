// The routines of vector_ops.h for one instruction set. The including file defines LAZYRT_ISA, the
// namespace they live in, and is compiled for that instruction set: nothing here may call an inline
// function that other files use too, or the linker could keep this file's copy of it.

#include <cmath>

#include "runtime/backends/cpu/vector_math_inl.h"
#include "runtime/backends/cpu/vector_ops.h"

namespace lazyrt {
namespace LAZYRT_ISA {
namespace {

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

HWY_INLINE float sum_lanes(V v) { return hn::GetLane(hn::SumOfLanes(D(), v)); }

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

// acc = f(acc, x[i]) over a row, from `start`, which must be neutral.
template <class F>
HWY_INLINE V fold(const float* x, size_t n, float start, F f) {
  const size_t lanes = hn::Lanes(D());
  V a0 = set1(start), a1 = a0, a2 = a0, a3 = a0;
  size_t i = 0;
  for (; i + 4 * lanes <= n; i += 4 * lanes) {
    a0 = f(a0, load(x + i));
    a1 = f(a1, load(x + i + lanes));
    a2 = f(a2, load(x + i + 2 * lanes));
    a3 = f(a3, load(x + i + 3 * lanes));
  }
  for (; i + lanes <= n; i += lanes) a0 = f(a0, load(x + i));
  if (i < n) a1 = f(a1, load_tail(x + i, n - i, start));
  return f(f(a0, a1), f(a2, a3));
}

#define LAZYRT_UNARY(name, expression)                                              \
  void name##_row(const float* in, float* out, size_t n, float alpha, float beta) { \
    (void)alpha, (void)beta;                                                        \
    map(in, out, n, [=](V x) HWY_ATTR { return expression; });                      \
  }
LAZYRT_UNARY(abs, hn::Abs(x))
LAZYRT_UNARY(neg, hn::Neg(x))
LAZYRT_UNARY(relu, hn::IfThenElse(hn::Lt(x, hn::Zero(D())), hn::Zero(D()), x))
LAZYRT_UNARY(sigmoid, sigmoid(x))
LAZYRT_UNARY(tanh, tanh(x))
LAZYRT_UNARY(exp, exp(x))
LAZYRT_UNARY(sqrt, hn::Sqrt(x))
LAZYRT_UNARY(rsqrt, hn::Div(set1(1.0f), hn::Sqrt(x)))
LAZYRT_UNARY(reciprocal, hn::Div(set1(1.0f), x))
LAZYRT_UNARY(square, hn::Mul(x, x))
LAZYRT_UNARY(erf, erf(x))
LAZYRT_UNARY(floor, hn::Floor(x))
LAZYRT_UNARY(ceil, hn::Ceil(x))
LAZYRT_UNARY(round, hn::Round(x))
LAZYRT_UNARY(trunc, hn::Trunc(x))
LAZYRT_UNARY(sign, hn::Sub(hn::IfThenElseZero(hn::Gt(x, hn::Zero(D())), set1(1.0f)),
                           hn::IfThenElseZero(hn::Lt(x, hn::Zero(D())), set1(1.0f))))
LAZYRT_UNARY(silu, hn::Div(x, hn::Add(set1(1.0f), exp_bounded(hn::Neg(x)))))
LAZYRT_UNARY(hardsigmoid,
             hn::Mul(clamp(hn::Add(x, set1(3.0f)), hn::Zero(D()), set1(6.0f)), set1(1.0f / 6.0f)))
LAZYRT_UNARY(hardswish,
             hn::Mul(hn::Mul(x, clamp(hn::Add(x, set1(3.0f)), hn::Zero(D()), set1(6.0f))),
                     set1(1.0f / 6.0f)))
LAZYRT_UNARY(clamp, clamp(x, set1(alpha), set1(beta)))
LAZYRT_UNARY(leaky_relu, hn::IfThenElse(hn::Gt(x, hn::Zero(D())), x, hn::Mul(x, set1(alpha))))
LAZYRT_UNARY(elu, hn::Mul(set1(beta), hn::IfThenElse(hn::Lt(x, hn::Zero(D())),
                                                     hn::Mul(set1(alpha), expm1(x)), x)))
#undef LAZYRT_UNARY

HWY_INLINE V gelu(V x) {
  const V half = hn::Mul(x, set1(0.5f));
  return hn::MulAdd(half, erf(hn::Mul(x, set1(0.70710678118654752f))), half);
}
// 0.5 (1 + tanh(u)) = sigmoid(2 u)
HWY_INLINE V gelu_tanh(V x) {
  const V cubic = hn::MulAdd(hn::Mul(x, x), set1(0.044715f), set1(1.0f));
  return hn::Mul(x, sigmoid(hn::Mul(hn::Mul(x, cubic), set1(2.0f * 0.7978845608028654f))));
}
// tanh(log(1 + e)) = (e^2 + 2 e) / (e^2 + 2 e + 2)
HWY_INLINE V mish(V x) {
  const V e = exp(hn::IfThenElse(hn::Gt(x, set1(20.0f)), set1(20.0f), x));
  const V s = hn::MulAdd(e, e, hn::Add(e, e));
  return hn::Mul(x, hn::Div(s, hn::Add(s, set1(2.0f))));
}
void gelu_row(const float* x, float* y, size_t n, float, float) {
  map(x, y, n, [](V v) HWY_ATTR { return gelu(v); });
}
void gelu_tanh_row(const float* x, float* y, size_t n, float, float) {
  map(x, y, n, [](V v) HWY_ATTR { return gelu_tanh(v); });
}
void mish_row(const float* x, float* y, size_t n, float, float) {
  map(x, y, n, [](V v) HWY_ATTR { return mish(v); });
}

#define LAZYRT_BINARY(name, expression)                                        \
  void name##_vv(const float* a_row, const float* b_row, float* y, size_t n) { \
    map2(a_row, b_row, y, n, [](V a, V b) HWY_ATTR { return expression; });    \
  }                                                                            \
  void name##_vs(const float* a_row, const float* b_one, float* y, size_t n) { \
    const V b = set1(*b_one);                                                  \
    map(a_row, y, n, [b](V a) HWY_ATTR { return expression; });                \
  }                                                                            \
  void name##_sv(const float* a_one, const float* b_row, float* y, size_t n) { \
    const V a = set1(*a_one);                                                  \
    map(b_row, y, n, [a](V b) HWY_ATTR { return expression; });                \
  }
LAZYRT_BINARY(add, hn::Add(a, b))
LAZYRT_BINARY(sub, hn::Sub(a, b))
LAZYRT_BINARY(mul, hn::Mul(a, b))
LAZYRT_BINARY(div, hn::Div(a, b))
LAZYRT_BINARY(minimum, min_nan(a, b))
LAZYRT_BINARY(maximum, max_nan(a, b))
#undef LAZYRT_BINARY

// In blocks, whose sums are added in double: the error does not grow with the length of the row.
float sum(const float* x, size_t n) {
  constexpr size_t kBlock = 128;
  double total = 0;
  for (size_t i = 0; i < n; i += kBlock) {
    const size_t count = n - i < kBlock ? n - i : kBlock;
    total += static_cast<double>(
        sum_lanes(fold(x + i, count, 0.0f, [](V a, V v) HWY_ATTR { return hn::Add(a, v); })));
  }
  return static_cast<float>(total);
}

template <class F>
HWY_INLINE float fold_lanes(V v, F f) {
  HWY_ALIGN float lanes[HWY_MAX_BYTES / sizeof(float)];
  hn::Store(v, D(), lanes);
  float r = lanes[0];
  for (size_t i = 1; i < hn::Lanes(D()); ++i) {
    if (std::isnan(r) || std::isnan(lanes[i])) return std::isnan(r) ? r : lanes[i];
    r = f(r, lanes[i]) ? r : lanes[i];
  }
  return r;
}
float max(const float* x, size_t n) {
  const V v = fold(x, n, -HUGE_VALF, [](V a, V b) HWY_ATTR { return max_nan(a, b); });
  return fold_lanes(v, [](float a, float b) { return a > b; });
}
float min(const float* x, size_t n) {
  const V v = fold(x, n, HUGE_VALF, [](V a, V b) HWY_ATTR { return min_nan(a, b); });
  return fold_lanes(v, [](float a, float b) { return a < b; });
}

void add_to(const float* x, float* acc, size_t n) {
  map2(acc, x, acc, n, [](V a, V v) HWY_ATTR { return hn::Add(a, v); });
}
void max_to(const float* x, float* acc, size_t n) {
  map2(acc, x, acc, n, [](V a, V v) HWY_ATTR { return max_nan(a, v); });
}
void min_to(const float* x, float* acc, size_t n) {
  map2(acc, x, acc, n, [](V a, V v) HWY_ATTR { return min_nan(a, v); });
}
void select(const uint8_t* condition, const float* a, size_t step_a, const float* b, size_t step_b,
            float* y, size_t n) {
  const hn::Rebind<uint8_t, D> bytes;
  const size_t lanes = hn::Lanes(D());
  size_t i = 0;
  for (; i + lanes <= n; i += lanes) {
    const auto c = hn::PromoteTo(DI(), hn::LoadU(bytes, condition + i));
    const V yes = step_a == 0 ? set1(*a) : load(a + i);
    const V no = step_b == 0 ? set1(*b) : load(b + i);
    const auto chosen = hn::RebindMask(D(), hn::Ne(c, hn::Zero(DI())));
    store(hn::IfThenElse(chosen, yes, no), y + i);
  }
  for (; i < n; ++i) y[i] = condition[i] != 0 ? a[i * step_a] : b[i * step_b];
}

template <class F>
HWY_INLINE void combine_rows(const float* const* rows, size_t count, float* y, size_t n, F f) {
  const size_t lanes = hn::Lanes(D());
  size_t i = 0;
  for (; i + lanes <= n; i += lanes) {
    V acc = load(rows[0] + i);
    for (size_t r = 1; r < count; ++r) acc = f(acc, load(rows[r] + i));
    store(acc, y + i);
  }
  if (i == n) return;
  V acc = load_tail(rows[0] + i, n - i, 0.0f);
  for (size_t r = 1; r < count; ++r) acc = f(acc, load_tail(rows[r] + i, n - i, 0.0f));
  store_tail(acc, y + i, n - i);
}
void max_rows(const float* const* rows, size_t count, float* y, size_t n) {
  combine_rows(rows, count, y, n, [](V a, V v) HWY_ATTR { return max_nan(a, v); });
}
void min_rows(const float* const* rows, size_t count, float* y, size_t n) {
  combine_rows(rows, count, y, n, [](V a, V v) HWY_ATTR { return min_nan(a, v); });
}
void sum_rows(const float* const* rows, size_t count, float scale, float* y, size_t n) {
  combine_rows(rows, count, y, n, [](V a, V v) HWY_ATTR { return hn::Add(a, v); });
  if (scale == 1.0f) return;
  const V s = set1(scale);
  map(y, y, n, [=](V v) HWY_ATTR { return hn::Mul(v, s); });
}
void axpy(float a, const float* x, float* acc, size_t n) {
  const V factor = set1(a);
  map2(acc, x, acc, n, [=](V s, V v) HWY_ATTR { return hn::MulAdd(factor, v, s); });
}
void scale_shift1(const float* x, float scale, float shift, float* y, size_t n) {
  const V s = set1(scale), t = set1(shift);
  map(x, y, n, [=](V v) HWY_ATTR { return hn::MulAdd(v, s, t); });
}

// y[i] = f(i, x[i]) with f loading its own rows through the loader it is given.
template <class F>
HWY_INLINE void map_at(const float* x, float* y, size_t n, F f) {
  const size_t lanes = hn::Lanes(D());
  size_t i = 0;
  for (; i + lanes <= n; i += lanes) {
    store(f(load(x + i), [i](const float* p) HWY_ATTR { return load(p + i); }), y + i);
  }
  if (i == n) return;
  const size_t rest = n - i;
  const auto tail = [i, rest](const float* p) HWY_ATTR { return load_tail(p + i, rest, 0.0f); };
  store_tail(f(tail(x), tail), y + i, rest);
}

void scale_shift(const float* x, const float* scale, const float* shift, float* y, size_t n) {
  map_at(x, y, n, [=](V v, auto at) HWY_ATTR { return hn::MulAdd(v, at(scale), at(shift)); });
}

void moments(const float* x, size_t n, float* mean, float* variance) {
  const float m = sum(x, n) / static_cast<float>(n);
  const V center = set1(m);
  const size_t lanes = hn::Lanes(D());
  V a = hn::Zero(D()), b = a;
  size_t i = 0;
  for (; i + 2 * lanes <= n; i += 2 * lanes) {
    const V d = hn::Sub(load(x + i), center);
    const V e = hn::Sub(load(x + i + lanes), center);
    a = hn::MulAdd(d, d, a);
    b = hn::MulAdd(e, e, b);
  }
  for (; i < n; i += lanes) {
    const V v = n - i >= lanes ? load(x + i) : load_tail(x + i, n - i, m);
    const V d = hn::Sub(v, center);
    a = hn::MulAdd(d, d, a);
  }
  *mean = m;
  *variance = sum_lanes(hn::Add(a, b)) / static_cast<float>(n);
}

void layer_norm(const float* x, const float* weight, const float* bias, float* y, size_t n,
                float epsilon) {
  float mean, variance;
  moments(x, n, &mean, &variance);
  const V scale = set1(1.0f / ::sqrtf(variance + epsilon));
  const V center = set1(mean);
  const auto normal = [=](V v) HWY_ATTR { return hn::Mul(hn::Sub(v, center), scale); };
  if (weight != nullptr && bias != nullptr) {
    map_at(x, y, n,
           [=](V v, auto at) HWY_ATTR { return hn::MulAdd(normal(v), at(weight), at(bias)); });
  } else if (weight != nullptr) {
    map_at(x, y, n, [=](V v, auto at) HWY_ATTR { return hn::Mul(normal(v), at(weight)); });
  } else if (bias != nullptr) {
    map_at(x, y, n, [=](V v, auto at) HWY_ATTR { return hn::Add(normal(v), at(bias)); });
  } else {
    map(x, y, n, normal);
  }
}

void rms_norm(const float* x, const float* weight, float* y, size_t n, float epsilon) {
  const size_t lanes = hn::Lanes(D());
  V a = hn::Zero(D()), b = a;
  size_t i = 0;
  for (; i + 2 * lanes <= n; i += 2 * lanes) {
    const V v = load(x + i), w = load(x + i + lanes);
    a = hn::MulAdd(v, v, a);
    b = hn::MulAdd(w, w, b);
  }
  for (; i < n; i += lanes) {
    const V v = n - i >= lanes ? load(x + i) : load_tail(x + i, n - i, 0.0f);
    a = hn::MulAdd(v, v, a);
  }
  const float mean = sum_lanes(hn::Add(a, b)) / static_cast<float>(n);
  const float scale = 1.0f / ::sqrtf(mean + epsilon);
  if (weight == nullptr) return scale_shift1(x, scale, 0.0f, y, n);
  const V s = set1(scale);
  map_at(x, y, n, [=](V v, auto at) HWY_ATTR { return hn::Mul(hn::Mul(v, s), at(weight)); });
}

// y[i] = exp(x[i] - top); returns their sum.
float exp_shifted(const float* x, float* y, size_t n, float top) {
  const V t = set1(top);
  const size_t lanes = hn::Lanes(D());
  V a = hn::Zero(D()), b = a;
  size_t i = 0;
  for (; i + 2 * lanes <= n; i += 2 * lanes) {
    const V e = exp_nonpositive(hn::Sub(load(x + i), t));
    const V f = exp_nonpositive(hn::Sub(load(x + i + lanes), t));
    store(e, y + i);
    store(f, y + i + lanes);
    a = hn::Add(a, e);
    b = hn::Add(b, f);
  }
  for (; i + lanes <= n; i += lanes) {
    const V e = exp_nonpositive(hn::Sub(load(x + i), t));
    store(e, y + i);
    a = hn::Add(a, e);
  }
  if (i < n) {
    const V e = exp_nonpositive(hn::Sub(load_tail(x + i, n - i, -HUGE_VALF), t));
    store_tail(e, y + i, n - i);
    b = hn::Add(b, e);
  }
  return sum_lanes(hn::Add(a, b));
}

float exp_sum(const float* x, size_t n, float top) {
  const V t = set1(top);
  const size_t lanes = hn::Lanes(D());
  V a = hn::Zero(D());
  for (size_t i = 0; i < n; i += lanes) {
    const V v = n - i >= lanes ? load(x + i) : load_tail(x + i, n - i, -HUGE_VALF);
    a = hn::Add(a, exp_nonpositive(hn::Sub(v, t)));
  }
  return sum_lanes(a);
}

void softmax(const float* x, float* y, size_t n, bool log, bool safe) {
  const float top = max(x, n);
  if (safe && top == -HUGE_VALF) {
    return map(x, y, n, [](V) HWY_ATTR { return hn::Zero(D()); });
  }
  if (log) {
    const float shift = ::logf(exp_sum(x, n, top));
    const V t = set1(top), s = set1(shift);
    return map(x, y, n, [=](V v) HWY_ATTR { return hn::Sub(hn::Sub(v, t), s); });
  }
  const V scale = set1(1.0f / exp_shifted(x, y, n, top));
  map(y, y, n, [=](V v) HWY_ATTR { return hn::Mul(v, scale); });
}

// One panel: kVectors vectors of outputs, two chains each to hide the latency of the additions.
template <size_t kVectors>
HWY_INLINE void gemv_part(const float* packed, const float* x, const float* init, float* y,
                          size_t k_count) {
  const size_t lanes = hn::Lanes(D());
  V a[kVectors], b[kVectors];
  for (size_t i = 0; i < kVectors; ++i) {
    a[i] = init != nullptr ? load(init + i * lanes) : hn::Zero(D());
    b[i] = hn::Zero(D());
  }
  size_t k = 0;
  for (; k + 2 <= k_count; k += 2, packed += 2 * kGemvPanel) {
    const V x0 = set1(x[k]), x1 = set1(x[k + 1]);
    for (size_t i = 0; i < kVectors; ++i) {
      a[i] = hn::MulAdd(load(packed + i * lanes), x0, a[i]);
      b[i] = hn::MulAdd(load(packed + kGemvPanel + i * lanes), x1, b[i]);
    }
  }
  if (k < k_count) {
    const V x0 = set1(x[k]);
    for (size_t i = 0; i < kVectors; ++i) a[i] = hn::MulAdd(load(packed + i * lanes), x0, a[i]);
  }
  for (size_t i = 0; i < kVectors; ++i) store(hn::Add(a[i], b[i]), y + i * lanes);
}

void gemv(const float* packed, const float* x, const float* init, float* y, size_t k, size_t first,
          size_t last) {
  constexpr size_t kMaxVectors = 4;
  const size_t part = kMaxVectors * hn::Lanes(D());
  for (size_t panel = first; panel < last; ++panel) {
    const float* weights = packed + panel * k * kGemvPanel;
    for (size_t j = 0; j < kGemvPanel; j += part) {
      const size_t at = panel * kGemvPanel + j;
      gemv_part<kMaxVectors>(weights + j, x, init == nullptr ? nullptr : init + at, y + at, k);
    }
  }
}

#include "runtime/backends/cpu/vector_products_inl.h"

void gru_gates(const float* gates_x, const float* gates_h, size_t stride_h, const float* h,
               float* h_out, size_t hidden) {
  map_at(h, h_out, hidden, [=](V previous, auto at) HWY_ATTR {
    const V r = sigmoid(hn::Add(at(gates_x), at(gates_h)));
    const V z = sigmoid(hn::Add(at(gates_x + hidden), at(gates_h + stride_h)));
    const V n = tanh(hn::MulAdd(r, at(gates_h + 2 * stride_h), at(gates_x + 2 * hidden)));
    return hn::MulAdd(z, hn::Sub(previous, n), n);
  });
}

void lstm_gates(const float* gates, size_t stride, float* c, float* h_out, size_t hidden) {
  map_at(c, c, hidden, [=](V previous, auto at) HWY_ATTR {
    const V write = hn::Mul(sigmoid(at(gates)), tanh(at(gates + 2 * stride)));
    return hn::MulAdd(sigmoid(at(gates + stride)), previous, write);
  });
  map_at(c, h_out, hidden, [=](V cell, auto at) HWY_ATTR {
    return hn::Mul(sigmoid(at(gates + 3 * stride)), tanh(cell));
  });
}

}  // namespace

#define LAZYRT_BINARY_ROWS(name) \
  { name##_vv, name##_vs, name##_sv }

extern const VectorOps kVectorOps;
const VectorOps kVectorOps = {
    LAZYRT_ISA_NAME,
    hn::MaxLanes(D()),
    {abs_row,         neg_row,   relu_row,      sigmoid_row,    tanh_row,
     exp_row,         sqrt_row,  rsqrt_row,     reciprocal_row, square_row,
     erf_row,         floor_row, ceil_row,      round_row,      trunc_row,
     sign_row,        gelu_row,  gelu_tanh_row, silu_row,       hardswish_row,
     hardsigmoid_row, mish_row,  clamp_row,     leaky_relu_row, elu_row},
    {LAZYRT_BINARY_ROWS(add), LAZYRT_BINARY_ROWS(sub), LAZYRT_BINARY_ROWS(mul),
     LAZYRT_BINARY_ROWS(div), LAZYRT_BINARY_ROWS(minimum), LAZYRT_BINARY_ROWS(maximum)},
    sum,
    max,
    min,
    add_to,
    max_to,
    min_to,
    select,
    sum_rows,
    max_rows,
    min_rows,
    axpy,
    scale_shift,
    scale_shift1,
    moments,
    softmax,
    layer_norm,
    rms_norm,
    gemv,
    gemm,
    HWY_TARGET == HWY_AVX2,  // elsewhere XNNPACK has kernels written for the processor
    winograd_filters,
    winograd_input,
    winograd_output,
    gru_gates,
    lstm_gates};
#undef LAZYRT_BINARY_ROWS

}  // namespace LAZYRT_ISA
}  // namespace lazyrt
