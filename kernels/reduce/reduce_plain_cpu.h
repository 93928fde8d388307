#pragma once

// Reductions without vector code over one run of neighbouring axes, on all threads: of integers and
// bools, and products, any and all of float32. The order of the elements does not matter: integers
// wrap, floats are multiplied in double.

#include <algorithm>
#include <limits>

#include "kernels/common/arithmetic.h"
#include "kernels/common/check.h"
#include "kernels/common/strides.h"
#include "runtime/backends/cpu/cpu_backend.h"

namespace lazyrt {
namespace plain_reduce {

using ElementTypes = Types<float, int64_t, int32_t, Bool>;

/// What is folded: f(f(start(), x0), x1) and so on, in Acc, which converts to the result.
template <class T>
struct Total {
  using Acc = T;
  using Result = T;
  static constexpr Acc start() { return 0; }
  static Acc f(Acc y, Acc x) { return wrapping_add(y, x); }
};
template <class T>
struct Prod {
  using Acc = std::conditional_t<kIsFloat<T>, double, T>;
  using Result = T;
  static constexpr Acc start() { return 1; }
  static Acc f(Acc y, Acc x) { return wrapping_mul(y, x); }
};
template <class T>
struct Max {
  using Acc = T;
  using Result = T;
  static constexpr Acc start() { return std::numeric_limits<T>::lowest(); }
  static Acc f(Acc y, Acc x) { return std::max(y, x); }
};
template <class T>
struct Min {
  using Acc = T;
  using Result = T;
  static constexpr Acc start() { return std::numeric_limits<T>::max(); }
  static Acc f(Acc y, Acc x) { return std::min(y, x); }
};
struct Any {
  using Acc = Bool;
  using Result = Bool;
  static constexpr Acc start() { return false; }
  static Acc f(Acc y, Acc x) { return (y.byte | x.byte) != 0; }
};
struct All {
  using Acc = Bool;
  using Result = Bool;
  static constexpr Acc start() { return true; }
  static Acc f(Acc y, Acc x) { return (y.byte & x.byte) != 0; }
};

/// Converts an element to the accumulator; any byte of a bool becomes 0 or 1.
template <class Acc, class T>
Acc element(T x) {
  if constexpr (std::is_same_v<Acc, Bool>)
    return convert<Bool>(x);
  else
    return static_cast<Acc>(x);
}

/// Folds into four accumulators, so that no step waits for the one before it.
template <class F, class T>
typename F::Acc fold_row(const T* x, int64_t n) {
  using Acc = typename F::Acc;
  Acc a = F::start(), b = a, c = a, d = a;
  int64_t i = 0;
  for (; i + 4 <= n; i += 4) {
    a = F::f(a, element<Acc>(x[i]));
    b = F::f(b, element<Acc>(x[i + 1]));
    c = F::f(c, element<Acc>(x[i + 2]));
    d = F::f(d, element<Acc>(x[i + 3]));
  }
  for (; i < n; ++i) a = F::f(a, element<Acc>(x[i]));
  return F::f(F::f(a, b), F::f(c, d));
}

constexpr int64_t kBlock = 256;  ///< columns

/// `n` <= kBlock columns.
template <class F, class T>
void fold_columns(const T* x, typename F::Result* y, int64_t n, const AxisView& view) {
  using Acc = typename F::Acc;
  Acc folded[kBlock];
  for (int64_t i = 0; i < n; ++i) folded[i] = F::start();
  for (int64_t k = 0; k < view.extent; ++k, x += view.inner) {
    for (int64_t i = 0; i < n; ++i) folded[i] = F::f(folded[i], element<Acc>(x[i]));
  }
  for (int64_t i = 0; i < n; ++i) y[i] = static_cast<typename F::Result>(folded[i]);
}

template <class F, class T>
void fold(const RunContext& context, const AxisView& view) {
  const T* x = context.inputs[0].as<const T>();
  auto* y = context.outputs[0].as<typename F::Result>();
  const int64_t blocks = (view.inner + kBlock - 1) / kBlock;
  const auto cost = static_cast<size_t>(std::min(view.inner, kBlock) * view.extent);
  parallel_for(cpu_services(context), static_cast<size_t>(view.outer * blocks), grain_of(cost),
               [=, &view](size_t begin, size_t end) {
                 for (auto b = static_cast<int64_t>(begin); b < static_cast<int64_t>(end); ++b) {
                   const int64_t outer = b / blocks, column = b % blocks * kBlock;
                   const T* from = x + outer * view.extent * view.inner + column;
                   if (view.inner == 1) {
                     y[outer] = static_cast<typename F::Result>(fold_row<F>(from, view.extent));
                   } else {
                     fold_columns<F>(from, y + outer * view.inner + column,
                                     std::min(view.inner - column, kBlock), view);
                   }
                 }
               });
}

/// Max and min of bools are any and all. For float32 only products, any and all come here.
template <class T>
void run_typed(const RunContext& context, fb::ReduceFn fn, const AxisView& view) {
  using Fn = fb::ReduceFn;
  constexpr bool kBools = std::is_same_v<T, Bool>;
  if (fn == Fn::Any || (kBools && fn == Fn::Max)) return fold<Any, T>(context, view);
  if (fn == Fn::All || (kBools && fn == Fn::Min)) return fold<All, T>(context, view);
  if constexpr (!kBools) {
    if (fn == Fn::Prod) return fold<Prod<T>, T>(context, view);
  }
  if constexpr (std::is_integral_v<T>) {
    if (fn == Fn::Sum) return fold<Total<T>, T>(context, view);
    if (fn == Fn::Max) return fold<Max<T>, T>(context, view);
    fold<Min<T>, T>(context, view);
  }
}

}  // namespace plain_reduce
}  // namespace lazyrt
