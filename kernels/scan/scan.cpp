// Running products, extremes and logarithms of sums along an axis.

#include <cmath>
#include <limits>

#include "kernels/common/check.h"
#include "kernels/scan/scan_rows.h"

namespace lazyrt {

extern const OpDef scan_op;

namespace {

using Fn = fb::ScanFn;

Fault infer(const OpAttrs& attrs, Span<const TensorSpec> in, Span<TensorSpec> out) {
  LAZYRT_RETURN_IF_ERROR(check_operands("scan", scan_op, in, out));
  const auto& a = attrs.as<fb::Scan>();
  LAZYRT_RETURN_IF_ERROR(
      check_range("scan", "fn", static_cast<int>(a.fn()), 0, static_cast<int>(Fn::MAX)));
  const DTypeSet types = a.fn() == Fn::LogSumExp ? kFloatTypes : kNumberTypes;
  LAZYRT_RETURN_IF_ERROR(check_dtype("scan", "x", in[0], types));
  LAZYRT_RETURN_IF_ERROR(check_axis("scan", a.axis(), in[0].shape.rank()));
  return set_output("scan", &out[0], in[0].dtype, in[0].shape);
}

/// log(exp(a) + exp(b)), as ATen computes it; NaN if either is.
double log_add_exp(double a, double b) {
  const double low = minimum(a, b), high = maximum(a, b);
  if (low == high && std::isinf(low)) return low;
  return std::log1p(std::exp(low - high)) + high;
}

template <class T>
Fault run_typed(const RunContext& context) {
  using Acc = ScanOf<T>;
  using Limits = std::numeric_limits<Acc>;
  const auto& a = context.attrs.as<fb::Scan>();
  constexpr Acc kMost = Limits::has_infinity ? Limits::infinity() : Limits::max();
  constexpr Acc kLeast = Limits::has_infinity ? -Limits::infinity() : Limits::lowest();
  switch (a.fn()) {
    case Fn::Prod:
      scan_axis<T>(context, a.axis(), 1, wrapping_mul<Acc>);
      break;
    case Fn::Max:
      scan_axis<T>(context, a.axis(), kLeast, maximum<Acc>);
      break;
    case Fn::Min:
      scan_axis<T>(context, a.axis(), kMost, minimum<Acc>);
      break;
    case Fn::LogSumExp:
      if constexpr (kIsFloat<T>) scan_axis<T>(context, a.axis(), kLeast, log_add_exp);
      break;
  }
  return Fault();
}

Fault run(void*, const RunContext& context) {
  if (context.outputs[0].numel() == 0) return {};
  return visit_dtype(NumberTypes{}, context.inputs[0].dtype,
                     [&](auto type) { return run_typed<typename decltype(type)::type>(context); });
}

}  // namespace

const OpDef scan_op = define_op(infer, work_by_size, run).with_inplace_inputs(0b1);

}  // namespace lazyrt
