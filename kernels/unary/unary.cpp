// Elementwise functions of one operand.

#include "kernels/common/check.h"
#include "kernels/unary/scalar_forms.h"
#include "kernels/unary/unary_function.h"

namespace lazyrt {

extern const OpDef unary_op;

namespace {

using Fn = fb::UnaryFn;

Fault infer(const OpAttrs& attrs, Span<const TensorSpec> in, Span<TensorSpec> out) {
  LAZYRT_RETURN_IF_ERROR(check_operands("unary", unary_op, in, out));
  const auto& a = attrs.as<fb::Unary>();
  LAZYRT_RETURN_IF_ERROR(
      check_range("unary", "fn", static_cast<int>(a.fn()), 0, static_cast<int>(Fn::MAX)));
  LAZYRT_RETURN_IF_ERROR(
      check_dtype(fb::EnumNameUnaryFn(a.fn()), "x", in[0], unary_types(unary_kind(a.fn()))));
  return set_output("unary", &out[0],
                    unary_kind(a.fn()) == UnaryKind::kTruth ? DType::kBool : in[0].dtype,
                    in[0].shape);
}

int fn(const OpAttrs& attrs) { return static_cast<int>(attrs.as<fb::Unary>().fn()); }

/// Most functions that only floats have are calls of the math library.
Work work(const OpAttrs& attrs, Span<const TensorSpec> in, Span<const TensorSpec> out) {
  const bool calls = unary_kind(attrs.as<fb::Unary>().fn()) == UnaryKind::kFloats;
  return volume(out[0].shape) * (calls ? kMathCall : Work(0)) + work_by_size(attrs, in, out);
}

#define LAZYRT_UNARY(number, Name, kind, names, example, scalar, vector)              \
  static_assert(static_cast<int>(Fn::Name) == (number), #Name " has another number"); \
  struct Name {                                                                       \
    static constexpr int kNumber = number;                                            \
    static constexpr UnaryKind kKind = UnaryKind::k##kind;                            \
    template <class T>                                                                \
    using Result = std::conditional_t<kKind == UnaryKind::kTruth, bool, T>;           \
    template <class T>                                                                \
    static Result<T> f(T x, [[maybe_unused]] T alpha, [[maybe_unused]] T beta) {      \
      return scalar;                                                                  \
    }                                                                                 \
  };
namespace functions {
#include "kernels/unary/functions.inc"
}  // namespace functions
#undef LAZYRT_UNARY

/// A function of an element and the two attributes, giving R: T, or bool.
template <class T, class R>
using Function = R (*)(T x, T alpha, T beta);

template <class T>
T same(T x, T, T) {
  return x;
}

/// F on T; nullptr if F does not take T, does not give R, or is not kept for T.
template <class T, class R, class F>
constexpr Function<T, R> function_of() {
  if constexpr (!keeps(kDTypeOf<T>, kept_types_of(F::kNumber))) {
    return nullptr;
  } else if constexpr (F::kKind == UnaryKind::kRounding && !kIsFloat<T>) {
    if constexpr (std::is_same_v<T, R>) return same<T>;
  } else if constexpr ((unary_types(F::kKind) & dtype_set(kDTypeOf<T>)) != 0) {
    if constexpr (std::is_same_v<typename F::template Result<T>, R>) return F::template f<T>;
  }
  return nullptr;
}

/// REQUIRES: `infer` accepted it.
template <class T, class R>
Function<T, R> function(Fn fn) {
  switch (fn) {
#define LAZYRT_UNARY(number, Name, ...) \
  case Fn::Name:                        \
    return function_of<T, R, functions::Name>();
#include "kernels/unary/functions.inc"
#undef LAZYRT_UNARY
  }
  return nullptr;
}

template <class T, class R, class Y>
void apply(const RunContext& context, const fb::Unary& a) {
  const T* x = context.inputs[0].as<const T>();
  Y* y = context.outputs[0].as<Y>();
  const Function<T, R> f = function<T, R>(a.fn());
  const T alpha = bound<T>(a.alpha()), beta = bound<T>(a.beta());
  for (int64_t i = 0, n = context.inputs[0].numel(); i < n; ++i) y[i] = f(x[i], alpha, beta);
}

template <class T>
Fault run_typed(const RunContext& context) {
  const auto& a = context.attrs.as<fb::Unary>();
  if (unary_kind(a.fn()) == UnaryKind::kTruth)
    apply<T, bool, Bool>(context, a);
  else
    apply<T, T, T>(context, a);
  return Fault();
}

Fault run(void*, const RunContext& context) {
  return visit_dtype(ComputeTypes{}, context.inputs[0].dtype,
                     [&](auto type) { return run_typed<typename decltype(type)::type>(context); });
}

}  // namespace

const OpDef unary_op = define_op(infer, work, run)
                           .with_inplace_inputs(0b1)
                           .with_functions({&fn, fb::EnumNamesUnaryFn});

}  // namespace lazyrt
