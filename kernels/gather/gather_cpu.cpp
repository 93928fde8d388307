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
                               {to[axis], 0},
                               to[axis] == 1};
  const I* ids = index.as<const I>();
  T* y = context.outputs[0].as<T>();
  const T* data = x.as<const T>();
  const int64_t by_index = from[axis];
  parallel_lines(cpu_services(context), lines,
                 [=](const int64_t* offset, const int64_t* step, int64_t count) {
                   const I* id = ids + offset[0];
                   T* out = y + offset[0];
                   const T* in = data + offset[1];
                   const int64_t step_out = step[0], step_in = step[1];
                   for (int64_t i = 0; i < count; ++i) {
                     out[i * step_out] = in[i * step_in + int64_t{id[i * step_out]} * by_index];
                   }
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
