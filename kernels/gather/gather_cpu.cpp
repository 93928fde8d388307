// torch.gather, line by line on all threads after all indices were checked.

#include "kernels/common/element.h"
#include "kernels/gather/lines_cpu.h"

namespace lazyrt {

extern const Kernel gather_cpu;

namespace {

template <class T, class I>
void gather_lines(const RunContext& context, int axis) {
  const TensorView& x = context.inputs[0];
  const TensorView& index = context.inputs[1];
  const Strides from = row_major(x.shape), to = row_major(index.shape);
  const IndexLines<2> lines = {LoopNest<2>(without_axis(index.shape, axis), {to, from}),
                               index.shape[axis],
                               {to[axis], from[axis]}};
  for_lines(cpu_services(context), lines,
            [&](const int64_t* offset, const int64_t* step, int64_t first, int64_t last) {
              const I* ids = index.as<const I>() + offset[0];
              T* y = context.outputs[0].as<T>() + offset[0];
              const T* data = x.as<const T>() + offset[1];
              for_positions(first, last, lines.extent, to[axis] == 1, [&](int64_t i, int64_t k) {
                const int64_t at = i * step[0] + k * lines.axis_step[0];
                y[at] = data[i * step[1] + int64_t{ids[at]} * lines.axis_step[1]];
              });
            });
}

template <class I>
Fault gather_by(const RunContext& context) {
  const int axis = context.attrs.as<fb::Gather>().axis();
  const TensorView& x = context.inputs[0];
  LAZYRT_RETURN_IF_ERROR(check_all_indices<I>("gather", context.inputs[1], x.shape[axis]));
  return visit_element_size(dtype_size(x.dtype), [&](auto type) {
    gather_lines<typename decltype(type)::type, I>(context, axis);
    return Fault();
  });
}

Fault run(void*, const RunContext& context) {
  if (context.outputs[0].numel() == 0) return {};
  return visit_dtype(IndexTypes{}, context.inputs[1].dtype,
                     [&](auto type) { return gather_by<typename decltype(type)::type>(context); });
}

}  // namespace

const Kernel gather_cpu = {nullptr, nullptr, run, nullptr};

}  // namespace lazyrt
