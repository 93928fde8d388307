// Reductions over one run of neighbouring axes: sum, mean, max and min of float32 in vectors, the
// others as reduce_plain_cpu.h has them.

#include <algorithm>
#include <cmath>

#include "kernels/common/check.h"
#include "kernels/common/strides.h"
#include "kernels/reduce/reduce_plain_cpu.h"
#include "runtime/backends/cpu/cpu_backend.h"

namespace lazyrt {

extern const Kernel reduce_cpu;

namespace {

using Fn = fb::ReduceFn;

/// x as [outer, reduced, inner]; false when the reduced axes are not neighbours.
bool reduced_view(const NodeSpec& node, AxisView* view) {
  const Shape& x = node.inputs[0].shape;
  const auto* axes = node.attrs.as<fb::Reduce>().axes();
  *view = {};
  uint32_t set = 0;
  for (unsigned i = 0; i < axes->size(); ++i) set |= 1u << axes->Get(i);
  int phase = 0;  // before, in and after the reduced run
  for (int i = 0; i < x.rank(); ++i) {
    if (x[i] == 1) continue;
    const bool reduced = (set >> i & 1) != 0;
    if (reduced && phase == 2) return false;
    if (reduced)
      phase = 1;
    else if (phase == 1)
      phase = 2;
    int64_t& extent = phase == 0 ? view->outer : phase == 1 ? view->extent : view->inner;
    extent *= x[i];
  }
  return true;
}

/// Whether the function has vector code, for float32.
bool has_vectors(Fn fn) {
  return fn == Fn::Sum || fn == Fn::Mean || fn == Fn::Max || fn == Fn::Min;
}

Fault supports(const NodeSpec& node) {
  AxisView view;
  LAZYRT_RETURN_IF_ERROR(visit_dtype(plain_reduce::ElementTypes{}, node.inputs[0].dtype,
                                     [](auto) { return Fault(); }));
  if (node.inputs[0].numel() == 0 || !reduced_view(node, &view)) {
    return Fault(Error::kUnsupported, "reduce: empty, or the axes are not neighbours");
  }
  return {};
}

/// Rows are the reduced run.
void reduce_rows(const RunContext& context, Fn fn, const AxisView& view) {
  const CpuServices& cpu = cpu_services(context);
  const auto n = static_cast<size_t>(view.extent);
  const float* x = context.inputs[0].as<const float>();
  float* y = context.outputs[0].as<float>();
  const auto row = fn == Fn::Max   ? cpu.vector->max
                   : fn == Fn::Min ? cpu.vector->min
                                   : cpu.vector->sum;
  const float scale = fn == Fn::Mean ? 1.0f / static_cast<float>(n) : 1.0f;
  parallel_for(cpu, static_cast<size_t>(view.outer), grain_of(n), [=](size_t begin, size_t end) {
    for (size_t i = begin; i < end; ++i) y[i] = row(x + i * n, n) * scale;
  });
}

constexpr size_t kColumns = 256;
constexpr size_t kRowsAtOnce = 16;

/// Sums of 16 rows, of 256, of 4096 and so on, so that a sum of many rows is as exact as one of
/// few: each addition joins numbers of similar size (a cascade sum, as in torch.sum).
class Cascade {
 public:
  Cascade(const VectorOps& vector, size_t columns) : vector_(vector), columns_(columns) {}

  void add(const float* const* rows, size_t count) {
    vector_.sum_rows(rows, count, 1.0f, sums_[0], columns_);
    for (size_t level = 1; level < kLevels; ++level) {
      put(level);
      if (++held_[level] < kRowsAtOnce || level + 1 == kLevels) return;
      held_[level] = 0;
    }
  }

  /// y = all rows; there must be some.
  void finish(float* y) const {
    const float* parts[kLevels];
    size_t used = 0;
    for (size_t level = 1; level < kLevels; ++level) {
      if (held_[level] > 0) parts[used++] = sums_[level];
    }
    vector_.sum_rows(parts, used, 1.0f, y, columns_);
  }

 private:
  static constexpr size_t kLevels = 5;

  /// Adds the sum of the level below.
  void put(size_t level) {
    const float* parts[] = {sums_[level - 1], sums_[level]};
    vector_.sum_rows(parts, held_[level] > 0 ? 2 : 1, 1.0f, sums_[level], columns_);
  }

  const VectorOps& vector_;
  const size_t columns_;
  float sums_[kLevels][kColumns];
  size_t held_[kLevels] = {};
};

void sum_columns(const VectorOps& vector, const float* x, size_t stride, size_t count, float* y,
                 size_t n) {
  const float* rows[kRowsAtOnce];
  const auto take = [&](size_t first) {
    const size_t used = std::min(count - first, kRowsAtOnce);
    for (size_t i = 0; i < used; ++i) rows[i] = x + (first + i) * stride;
    return used;
  };
  if (count <= kRowsAtOnce) return vector.sum_rows(rows, take(0), 1.0f, y, n);
  Cascade cascade(vector, n);
  for (size_t first = 0; first < count; first += kRowsAtOnce) cascade.add(rows, take(first));
  cascade.finish(y);
}

/// y = the largest or smallest of each column; several rows at a time, so that y is read and
/// written rarely.
void select_columns(void (*select)(const float* const*, size_t, float*, size_t), const float* x,
                    size_t stride, size_t count, float* y, size_t n) {
  const float* rows[kRowsAtOnce];
  for (size_t done = 0; done < count;) {
    size_t used = 0;
    if (done > 0) rows[used++] = y;
    while (used < kRowsAtOnce && done < count) rows[used++] = x + done++ * stride;
    select(rows, used, y, n);
  }
}

void combine(const VectorOps& vector, Fn fn, const float* x, size_t stride, size_t count, float* y,
             size_t n) {
  if (fn == Fn::Max) return select_columns(vector.max_rows, x, stride, count, y, n);
  if (fn == Fn::Min) return select_columns(vector.min_rows, x, stride, count, y, n);
  sum_columns(vector, x, stride, count, y, n);
  if (fn == Fn::Mean) vector.scale_shift1(y, 1.0f / static_cast<float>(count), 0.0f, y, n);
}

/// Reduces axes that have `inner` elements behind each of their positions.
void reduce_columns(const RunContext& context, Fn fn, const AxisView& view) {
  const CpuServices& cpu = cpu_services(context);
  const auto count = static_cast<size_t>(view.extent);
  const auto inner = static_cast<size_t>(view.inner);
  const float* x = context.inputs[0].as<const float>();
  float* y = context.outputs[0].as<float>();
  const size_t blocks = (inner + kColumns - 1) / kColumns;
  parallel_for(cpu, static_cast<size_t>(view.outer) * blocks, grain_of(kColumns * count),
               [=, &cpu](size_t begin, size_t end) {
                 for (size_t i = begin; i < end; ++i) {
                   const size_t first = i % blocks * kColumns;
                   const size_t n = inner - first < kColumns ? inner - first : kColumns;
                   combine(*cpu.vector, fn, x + i / blocks * count * inner + first, inner, count,
                           y + i / blocks * inner + first, n);
                 }
               });
}

Fault run(void*, const RunContext& context) {
  const Fn fn = context.attrs.as<fb::Reduce>().fn();
  TensorSpec x = {context.inputs[0].dtype, context.inputs[0].shape, nullptr};
  AxisView view;
  reduced_view({context.attrs, Span<const TensorSpec>(&x, 1), {}}, &view);
  if (x.dtype != DType::kFloat32 || !has_vectors(fn)) {
    return visit_dtype(plain_reduce::ElementTypes{}, x.dtype, [&](auto type) {
      plain_reduce::run_typed<typename decltype(type)::type>(context, fn, view);
      return Fault();
    });
  }
  if (view.inner == 1)
    reduce_rows(context, fn, view);
  else
    reduce_columns(context, fn, view);
  return {};
}

}  // namespace

const Kernel reduce_cpu = {supports, nullptr, run, nullptr};

}  // namespace lazyrt
