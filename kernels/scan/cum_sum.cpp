// Running sum along an axis.

#include "kernels/common/check.h"
#include "kernels/scan/scan_rows.h"

namespace lazyrt {

extern const OpDef cum_sum_op;

namespace {

Fault infer(const OpAttrs& attrs, Span<const TensorSpec> in, Span<TensorSpec> out) {
  LAZYRT_RETURN_IF_ERROR(check_operands("cum_sum", cum_sum_op, in, out));
  LAZYRT_RETURN_IF_ERROR(check_dtype("cum_sum", "x", in[0], kNumberTypes));
  LAZYRT_RETURN_IF_ERROR(check_axis("cum_sum", attrs.as<fb::CumSum>().axis(), in[0].shape.rank()));
  return set_output("cum_sum", &out[0], in[0].dtype, in[0].shape);
}

template <class T>
Fault run_typed(const RunContext& context) {
  scan_axis<T>(context, context.attrs.as<fb::CumSum>().axis(), 0, wrapping_add<ScanOf<T>>);
  return Fault();
}

Fault run(void*, const RunContext& context) {
  if (context.outputs[0].numel() == 0) return {};
  return visit_dtype(NumberTypes{}, context.inputs[0].dtype,
                     [&](auto type) { return run_typed<typename decltype(type)::type>(context); });
}

}  // namespace

const OpDef cum_sum_op = define_op(infer, work_by_size, run).with_inplace_inputs(0b1);

}  // namespace lazyrt
