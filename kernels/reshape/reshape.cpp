// The same elements under another shape.

#include "kernels/common/check.h"
#include "kernels/common/copy.h"

namespace lazyrt {

extern const OpDef reshape_op;

namespace {

Fault infer(const OpAttrs& attrs, Span<const TensorSpec> in, Span<TensorSpec> out) {
  LAZYRT_RETURN_IF_ERROR(check_operands("reshape", reshape_op, in, out));
  const auto* shape = attrs.as<fb::Reshape>().shape();
  LAZYRT_RETURN_IF_ERROR(
      check_range("reshape", "rank of shape", attribute_size(shape), 0, kMaxRank));
  const Shape to = attribute_list(shape);
  LAZYRT_RETURN_IF_ERROR(set_output("reshape", &out[0], in[0].dtype, to));
  if (to.numel() == in[0].numel()) return Fault();
  return Fault(Error::kInvalidArgument, "reshape: shape %s does not have as many elements as x %s",
               shape_text(to).text, shape_text(in[0].shape).text);
}

Fault run(void*, const RunContext& context) {
  copy_bytes(context.outputs[0].data, context.inputs[0].data, context.outputs[0].bytes());
  return Fault();
}

}  // namespace

const OpDef reshape_op = define_op(infer, work_by_size, run).as_view();

}  // namespace lazyrt
