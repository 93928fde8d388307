// A part of each dim: first element, number of elements, step.

#include "kernels/common/check.h"
#include "kernels/common/copy.h"
#include "kernels/slice/slice_source.h"

namespace lazyrt {

extern const OpDef slice_op;

namespace {

Fault check_dim(int dim, int64_t extent, int64_t start, int64_t size, int64_t step) {
  int64_t last = 0;  // index of the last element taken, relative to start
  const bool fits =
      start >= 0 && start <= extent && size >= 0 && step >= 1 &&
      (size == 0 || (!__builtin_mul_overflow(size - 1, step, &last) && last < extent - start));
  if (fits) return Fault();
  return Fault(Error::kInvalidArgument,
               "slice: start %lld, size %lld, step %lld of dim %d do not fit its extent %lld",
               static_cast<long long>(start), static_cast<long long>(size),
               static_cast<long long>(step), dim, static_cast<long long>(extent));
}

Fault infer(const OpAttrs& attrs, Span<const TensorSpec> in, Span<TensorSpec> out) {
  LAZYRT_RETURN_IF_ERROR(check_operands("slice", slice_op, in, out));
  const auto& a = attrs.as<fb::Slice>();
  const Shape& x = in[0].shape;
  LAZYRT_RETURN_IF_ERROR(check_length("slice", "starts", a.starts(), x.rank()));
  LAZYRT_RETURN_IF_ERROR(check_length("slice", "sizes", a.sizes(), x.rank()));
  LAZYRT_RETURN_IF_ERROR(check_length("slice", "steps", a.steps(), x.rank()));
  const Shape starts = attribute_list(a.starts());
  const Shape sizes = attribute_list(a.sizes());
  const Shape steps = attribute_list(a.steps());
  for (int i = 0; i < x.rank(); ++i) {
    LAZYRT_RETURN_IF_ERROR(check_dim(i, x[i], starts[i], sizes[i], steps[i]));
  }
  return set_output("slice", &out[0], in[0].dtype, sizes);
}

Fault run(void*, const RunContext& context) {
  const TensorView& y = context.outputs[0];
  if (y.numel() == 0) return Fault();
  const SliceSource from = slice_source(context);
  const size_t bytes = dtype_size(y.dtype);
  copy_strided(bytes, y.shape, y.data, row_major(y.shape),
               element_at(static_cast<const void*>(context.inputs[0].data), from.first, bytes),
               from.strides);
  return Fault();
}

}  // namespace

const OpDef slice_op = define_op(infer, work_by_size, run);

}  // namespace lazyrt
