// Running sums on all threads: rows in fours, so that one addition of four waits for the last one;
// axes with elements behind them a block of columns at a time.

#include <algorithm>

#include "kernels/common/arithmetic.h"
#include "kernels/common/strides.h"
#include "kernels/scan/scan_rows.h"
#include "runtime/backends/cpu/cpu_backend.h"

namespace lazyrt {

extern const Kernel cum_sum_cpu;

namespace {

using CumSumTypes = Types<float, int64_t, int32_t>;

Fault supports(const NodeSpec& node) {
  return visit_dtype(CumSumTypes{}, node.inputs[0].dtype, [](auto) { return Fault(); });
}

template <class T>
void sum_row(const T* x, T* y, int64_t n) {
  using Acc = ScanOf<T>;
  Acc sum = 0;
  int64_t i = 0;
  for (; i + 4 <= n; i += 4) {
    const Acc first = static_cast<Acc>(x[i]);
    const Acc two = wrapping_add(first, static_cast<Acc>(x[i + 1]));
    const Acc three = wrapping_add(two, static_cast<Acc>(x[i + 2]));
    const Acc four = wrapping_add(three, static_cast<Acc>(x[i + 3]));
    y[i] = convert<T>(wrapping_add(sum, first));
    y[i + 1] = convert<T>(wrapping_add(sum, two));
    y[i + 2] = convert<T>(wrapping_add(sum, three));
    sum = wrapping_add(sum, four);
    y[i + 3] = convert<T>(sum);
  }
  for (; i < n; ++i) {
    sum = wrapping_add(sum, static_cast<Acc>(x[i]));
    y[i] = convert<T>(sum);
  }
}

constexpr int64_t kColumns = 128;

/// `n` <= kColumns neighbouring columns of `extent` rows, `stride` apart.
template <class T>
void sum_columns(const T* x, T* y, int64_t n, int64_t extent, int64_t stride) {
  using Acc = ScanOf<T>;
  Acc sums[kColumns] = {};
  for (int64_t k = 0; k < extent; ++k, x += stride, y += stride) {
    for (int64_t i = 0; i < n; ++i) {
      sums[i] = wrapping_add(sums[i], static_cast<Acc>(x[i]));
      y[i] = convert<T>(sums[i]);
    }
  }
}

template <class T>
Fault run_typed(const RunContext& context) {
  const AxisView v = axis_view(context.inputs[0].shape, context.attrs.as<fb::CumSum>().axis());
  const T* x = context.inputs[0].as<const T>();
  T* y = context.outputs[0].as<T>();
  const int64_t blocks = (v.inner + kColumns - 1) / kColumns;
  const auto cost = static_cast<size_t>(std::min(v.inner, kColumns) * v.extent);
  parallel_for(cpu_services(context), static_cast<size_t>(v.outer * blocks), grain_of(cost),
               [=](size_t begin, size_t end) {
                 for (auto b = static_cast<int64_t>(begin); b < static_cast<int64_t>(end); ++b) {
                   const int64_t column = b % blocks * kColumns;
                   const int64_t first = b / blocks * v.extent * v.inner + column;
                   if (v.inner == 1) {
                     sum_row(x + first, y + first, v.extent);
                   } else {
                     sum_columns(x + first, y + first, std::min(v.inner - column, kColumns),
                                 v.extent, v.inner);
                   }
                 }
               });
  return {};
}

Fault run(void*, const RunContext& context) {
  if (context.outputs[0].numel() == 0) return {};
  return visit_dtype(CumSumTypes{}, context.inputs[0].dtype,
                     [&](auto type) { return run_typed<typename decltype(type)::type>(context); });
}

}  // namespace

const Kernel cum_sum_cpu = {supports, nullptr, run, nullptr};

}  // namespace lazyrt
