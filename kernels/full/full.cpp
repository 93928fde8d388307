// A tensor filled with one number. The exporter writes it if a number depends on symbols; otherwise
// it is a constant.

#include <algorithm>

#include "kernels/common/check.h"
#include "kernels/common/element.h"

namespace lazyrt {

extern const OpDef full_op;

namespace {

Fault infer(const OpAttrs& attrs, Span<const TensorSpec> in, Span<TensorSpec> out) {
  LAZYRT_RETURN_IF_ERROR(check_operands("full", full_op, in, out));
  const auto& a = attrs.as<fb::Full>();
  if (dtype_size(static_cast<DType>(a.dtype())) == 0) {
    return Fault(Error::kInvalidArgument, "full: unknown dtype %d", static_cast<int>(a.dtype()));
  }
  LAZYRT_RETURN_IF_ERROR(
      check_range("full", "rank of shape", attribute_size(a.shape()), 0, kMaxRank));
  return set_output("full", &out[0], static_cast<DType>(a.dtype()), attribute_list(a.shape()));
}

Fault run(void*, const RunContext& context) {
  const auto& a = context.attrs.as<fb::Full>();
  const TensorView& y = context.outputs[0];
  return visit_dtype(AllTypes{}, y.dtype, [&](auto type) {
    using T = typename decltype(type)::type;
    T number;
    if constexpr (kIsFloat<T>)
      number = convert<T>(a.real());
    else
      number = convert<T>(a.integer());
    std::fill_n(y.as<T>(), y.shape.numel(), number);
    return Fault();
  });
}

}  // namespace

const OpDef full_op = define_op(infer, work_by_size, run).with_inputs(0, 0);

}  // namespace lazyrt
