// Conversion between element types.

#include "kernels/common/check.h"
#include "kernels/common/element.h"

namespace lazyrt {

extern const OpDef cast_op;

namespace {

Fault infer(const OpAttrs& attrs, Span<const TensorSpec> in, Span<TensorSpec> out) {
  LAZYRT_RETURN_IF_ERROR(check_operands("cast", cast_op, in, out));
  const auto to = static_cast<DType>(attrs.as<fb::Cast>().to());
  LAZYRT_RETURN_IF_ERROR(check_range("cast", "to", static_cast<int>(to), 1, kDTypeCount - 1));
  return set_output("cast", &out[0], to, in[0].shape);
}

template <class From, class To>
Fault convert_all(const RunContext& context) {
  const From* x = context.inputs[0].as<const From>();
  To* y = context.outputs[0].as<To>();
  for (int64_t i = 0, n = context.inputs[0].numel(); i < n; ++i) y[i] = convert<To>(x[i]);
  return Fault();
}

Fault run(void*, const RunContext& context) {
  return visit_dtype(AllTypes{}, context.inputs[0].dtype, [&](auto from) {
    return visit_dtype(AllTypes{}, context.outputs[0].dtype, [&](auto to) {
      return convert_all<typename decltype(from)::type, typename decltype(to)::type>(context);
    });
  });
}

}  // namespace

const OpDef cast_op = define_op(infer, work_by_size, run).with_inplace_inputs(0b1);

}  // namespace lazyrt
