// Running sum along an axis.

#include "kernels/common/arithmetic.h"
#include "kernels/common/check.h"
#include "kernels/common/element.h"
#include "kernels/common/strides.h"

namespace lazyrt {

extern const OpDef cum_sum_op;

namespace {

Status infer(const OpAttrs& attrs, Span<const TensorSpec> in, Span<TensorSpec> out) {
  LAZYRT_RETURN_IF_ERROR(check_operands("cum_sum", cum_sum_op, in, out));
  LAZYRT_RETURN_IF_ERROR(check_dtype("cum_sum", "x", in[0], kNumberTypes));
  LAZYRT_RETURN_IF_ERROR(check_axis("cum_sum", attrs.as<fb::CumSum>().axis(), in[0].shape.rank()));
  return set_output("cum_sum", &out[0], in[0].dtype, in[0].shape);
}

template <class T>
Status run_typed(const RunContext& context) {
  using Acc = std::conditional_t<kIsFloat<T>, double, int64_t>;
  const AxisView v = axis_view(context.inputs[0].shape, context.attrs.as<fb::CumSum>().axis());
  const T* x = context.inputs[0].as<const T>();
  T* y = context.outputs[0].as<T>();
  for (int64_t o = 0; o < v.outer; ++o) {
    for (int64_t i = 0; i < v.inner; ++i) {
      Acc sum = 0;
      for (int64_t k = 0; k < v.extent; ++k) {
        const int64_t at = (o * v.extent + k) * v.inner + i;
        sum = wrapping_add(sum, static_cast<Acc>(x[at]));
        y[at] = convert<T>(sum);
      }
    }
  }
  return Status();
}

Status run(void*, const RunContext& context) {
  if (context.outputs[0].numel() == 0) return {};
  return visit_dtype(NumberTypes{}, context.inputs[0].dtype,
                     [&](auto type) { return run_typed<typename decltype(type)::type>(context); });
}

}  // namespace

const OpDef cum_sum_op = {
    1, 1, 1, 0, 0b1, false, infer, work_by_size, {nullptr, nullptr, run, nullptr}};

}  // namespace lazyrt
