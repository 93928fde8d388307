// torch.scatter and scatter_reduce, line by line on all threads after all indices were checked. A
// line's elements are taken in order, so that of equal indices the last is assigned.

#include "kernels/common/arithmetic.h"
#include "kernels/common/copy.h"
#include "kernels/common/element.h"
#include "kernels/gather/lines_cpu.h"

namespace lazyrt {

extern const Kernel scatter_cpu;

namespace {

using Fn = fb::ScatterFn;
using CombinedTypes = Types<float, int64_t, int32_t>;

Fault supports(const NodeSpec& node) {
  if (node.attrs.as<fb::Scatter>().fn() == Fn::Assign) return {};
  return visit_dtype(CombinedTypes{}, node.inputs[0].dtype, [](auto) { return Fault(); });
}

template <class T, class I, class Combine>
void scatter_lines(const RunContext& context, const Combine& combine) {
  const int axis = context.attrs.as<fb::Scatter>().axis();
  const TensorView& index = context.inputs[1];
  const TensorView& src = context.inputs[2];
  const TensorView& y = context.outputs[0];
  const Strides at = row_major(index.shape), from = row_major(src.shape), to = row_major(y.shape);
  const IndexLines<3> lines = {LoopNest<3>(without_axis(index.shape, axis), {at, from, to}),
                               index.shape[axis],
                               {at[axis], from[axis], 0},
                               at[axis] == 1};
  const I* ids = index.as<const I>();
  const T* values = src.as<const T>();
  T* targets = y.as<T>();
  const int64_t by_index = to[axis];
  parallel_lines(cpu_services(context), lines,
                 [=](const int64_t* offset, const int64_t* step, int64_t count) {
                   const I* id = ids + offset[0];
                   const T* value = values + offset[1];
                   T* out = targets + offset[2];
                   const int64_t step_id = step[0], step_value = step[1], step_out = step[2];
                   for (int64_t i = 0; i < count; ++i) {
                     T& target = out[i * step_out + int64_t{id[i * step_id]} * by_index];
                     target = combine(target, value[i * step_value]);
                   }
                 });
}

template <class T, class I>
Fault combine_lines(const RunContext& context) {
  switch (context.attrs.as<fb::Scatter>().fn()) {
    case Fn::Add:
      scatter_lines<T, I>(context, [](T a, T b) { return wrapping_add(a, b); });
      break;
    case Fn::Mul:
      scatter_lines<T, I>(context, [](T a, T b) { return wrapping_mul(a, b); });
      break;
    case Fn::Max:
      scatter_lines<T, I>(context, [](T a, T b) { return maximum(a, b); });
      break;
    default:
      scatter_lines<T, I>(context, [](T a, T b) { return minimum(a, b); });
      break;
  }
  return {};
}

template <class I>
Fault scatter_by(const RunContext& context) {
  const auto& a = context.attrs.as<fb::Scatter>();
  const TensorView& x = context.inputs[0];
  LAZYRT_RETURN_IF_ERROR(check_all_indices<I>("scatter", context.inputs[1], x.shape[a.axis()]));
  copy_bytes(context.outputs[0].data, x.data, x.bytes());
  if (context.inputs[1].numel() == 0) return {};
  if (a.fn() != Fn::Assign) {
    return visit_dtype(CombinedTypes{}, x.dtype, [&](auto type) {
      return combine_lines<typename decltype(type)::type, I>(context);
    });
  }
  return visit_element_size(dtype_size(x.dtype), [&](auto type) {
    using T = typename decltype(type)::type;
    scatter_lines<T, I>(context, [](T, T value) { return value; });
    return Fault();
  });
}

Fault run(void*, const RunContext& context) {
  return visit_dtype(IndexTypes{}, context.inputs[1].dtype,
                     [&](auto type) { return scatter_by<typename decltype(type)::type>(context); });
}

}  // namespace

const Kernel scatter_cpu = {supports, nullptr, run, nullptr};

}  // namespace lazyrt
