// torch.scatter and scatter_reduce, line by line on all threads after all indices were checked. A
// line's elements are taken in order, so that of equal indices the last is assigned.

#include <cstring>

#include "kernels/common/arithmetic.h"
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
                               {at[axis], from[axis], to[axis]}};
  for_lines(cpu_services(context), lines,
            [&](const int64_t* offset, const int64_t* step, int64_t first, int64_t last) {
              const I* ids = index.as<const I>() + offset[0];
              const T* values = src.as<const T>() + offset[1];
              T* targets = y.as<T>() + offset[2];
              for_positions(first, last, lines.extent, at[axis] == 1, [&](int64_t i, int64_t k) {
                const int64_t id = ids[i * step[0] + k * lines.axis_step[0]];
                T& target = targets[i * step[2] + id * lines.axis_step[2]];
                target = combine(target, values[i * step[1] + k * lines.axis_step[1]]);
              });
            });
}

template <class T, class I>
Fault combine_lines(const RunContext& context) {
  switch (context.attrs.as<fb::Scatter>().fn()) {
    case Fn::Add:
      scatter_lines<T, I>(context, wrapping_add<T>);
      break;
    case Fn::Mul:
      scatter_lines<T, I>(context, wrapping_mul<T>);
      break;
    case Fn::Max:
      scatter_lines<T, I>(context, maximum<T>);
      break;
    default:
      scatter_lines<T, I>(context, minimum<T>);
      break;
  }
  return {};
}

void copy_all(const RunContext& context) {
  const char* x = context.inputs[0].as<const char>();
  char* y = context.outputs[0].as<char>();
  parallel_for(cpu_services(context), context.inputs[0].bytes(), grain_of(1) * 8,
               [=](size_t begin, size_t end) { std::memcpy(y + begin, x + begin, end - begin); });
}

template <class I>
Fault scatter_by(const RunContext& context) {
  const auto& a = context.attrs.as<fb::Scatter>();
  const TensorView& x = context.inputs[0];
  LAZYRT_RETURN_IF_ERROR(check_all_indices<I>("scatter", context.inputs[1], x.shape[a.axis()]));
  copy_all(context);
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
