// Selects whole slices of x by ids along an axis; on axis 0 this is the embedding look-up.

#include <cstring>

#include "kernels/common/check.h"
#include "kernels/common/strides.h"
#include "kernels/gather/index_check.h"

namespace lazyrt {

extern const OpDef index_select_op;

namespace {

Fault infer(const OpAttrs& attrs, Span<const TensorSpec> in, Span<TensorSpec> out) {
  LAZYRT_RETURN_IF_ERROR(check_operands("index_select", index_select_op, in, out));
  const int axis = attrs.as<fb::IndexSelect>().axis();
  const Shape& x = in[0].shape;
  const Shape& ids = in[1].shape;
  LAZYRT_RETURN_IF_ERROR(check_dtype("index_select", "ids", in[1], kIndexTypes));
  LAZYRT_RETURN_IF_ERROR(check_axis("index_select", axis, x.rank()));
  LAZYRT_RETURN_IF_ERROR(
      check_range("index_select", "rank of the result", x.rank() - 1 + ids.rank(), 0, kMaxRank));
  Shape shape;
  for (int i = 0; i < axis; ++i) shape.append(x[i]);
  for (int64_t d : ids) shape.append(d);
  for (int i = axis + 1; i < x.rank(); ++i) shape.append(x[i]);
  return set_output("index_select", &out[0], in[0].dtype, shape);
}

Fault run(void*, const RunContext& context) {
  const TensorView& x = context.inputs[0];
  const TensorView& ids = context.inputs[1];
  const auto& a = context.attrs.as<fb::IndexSelect>();
  const AxisView v = axis_view(x.shape, a.axis());
  const int64_t low = a.from_end() ? -v.extent : 0;
  LAZYRT_RETURN_IF_ERROR(check_indices("index_select", ids, low, v.extent));
  const size_t bytes = static_cast<size_t>(v.inner) * dtype_size(x.dtype);
  const int64_t count = ids.numel();
  if (bytes == 0 || count == 0) return Fault();
  char* y = context.outputs[0].as<char>();
  for (int64_t o = 0; o < v.outer; ++o) {
    const char* rows = x.as<const char>() + static_cast<size_t>(o * v.extent) * bytes;
    for (int64_t i = 0; i < count; ++i, y += bytes) {
      const int64_t id = index_at(ids, i);
      std::memcpy(y, rows + static_cast<size_t>(id < 0 ? id + v.extent : id) * bytes, bytes);
    }
  }
  return Fault();
}

}  // namespace

const OpDef index_select_op = define_op(infer, work_by_size, run).with_inputs(2, 2);

}  // namespace lazyrt
