// The routines of vector_ops.h for one instruction set. The including file defines LAZYRT_ISA, the
// namespace they live in, and is compiled for that instruction set: nothing here may call an inline
// function that other files use too, or the linker could keep this file's copy of it.

#include <cmath>

#include "runtime/backends/cpu/vector_ops.h"
#include "runtime/backends/cpu/vector_rows_inl.h"

namespace lazyrt {
namespace LAZYRT_ISA {
namespace {

HWY_INLINE float sum_lanes(V v) { return hn::GetLane(hn::SumOfLanes(D(), v)); }

// acc = f(acc, x[i]) over a row. Begins with `start`, which must be neutral.
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

void divide(const float* x, float by, float* y, size_t n) {
  const V divisor = set1(by);
  map(x, y, n, [=](V v) HWY_ATTR { return hn::Div(v, divisor); });
}

// Sums blocks, and adds their sums in double, so that the error does not grow with the length of
// the row.
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

// y[i] = f(i, x[i]). f loads its own rows through the loader that it is given.
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

// Computes one panel: kVectors vectors of outputs, two chains each to hide the latency of the
// additions.
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

extern const VectorOps kVectorOps;
const VectorOps kVectorOps = {
    LAZYRT_ISA_NAME,
    VectorIsa::LAZYRT_ISA_KIND,
    hn::MaxLanes(D()),
    divide,
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

}  // namespace LAZYRT_ISA
}  // namespace lazyrt
