// Elementwise functions of one operand.

#include <cmath>

#include "kernels/common/arithmetic.h"
#include "kernels/common/check.h"
#include "kernels/common/element.h"

namespace lazyrt {

extern const OpDef unary_op;

namespace {

using Fn = fb::UnaryFn;

bool is_predicate(Fn fn) { return fn == Fn::LogicalNot || fn == Fn::IsNan || fn == Fn::IsInf; }

DTypeSet allowed_types(Fn fn) {
  switch (fn) {
    case Fn::LogicalNot:
    case Fn::IsNan:
    case Fn::IsInf:
      return kComputeTypes;
    case Fn::BitwiseNot:
      return kIntegerTypes | kBoolType;
    case Fn::Abs:
    case Fn::Neg:
    case Fn::Relu:
    case Fn::Square:
    case Fn::Sign:
    case Fn::Clamp:
    case Fn::Floor:
    case Fn::Ceil:
    case Fn::Round:
    case Fn::Trunc:
      return kNumberTypes;
    default:
      return kFloatTypes;
  }
}

Status infer(const OpAttrs& attrs, Span<const TensorSpec> in, Span<TensorSpec> out) {
  LAZYRT_RETURN_IF_ERROR(check_operands("unary", unary_op, in, out));
  const auto& a = attrs.as<fb::Unary>();
  LAZYRT_RETURN_IF_ERROR(
      check_range("unary", "fn", static_cast<int>(a.fn()), 0, static_cast<int>(Fn::MAX)));
  LAZYRT_RETURN_IF_ERROR(
      check_dtype(fb::EnumNameUnaryFn(a.fn()), "x", in[0], allowed_types(a.fn())));
  return set_output("unary", &out[0], is_predicate(a.fn()) ? DType::kBool : in[0].dtype,
                    in[0].shape);
}

/// Most of what only floats have are calls of the math library.
Work work(const OpAttrs& attrs, Span<const TensorSpec> in, Span<const TensorSpec> out) {
  const bool calls = allowed_types(attrs.as<fb::Unary>().fn()) == kFloatTypes;
  return volume(out[0].shape) * (calls ? kMathCall : Work(0)) + work_by_size(attrs, in, out);
}

/// A function of an element and the two attributes.
template <class T>
using Function = T (*)(T x, T alpha, T beta);

template <class T>
T sigmoid(T x) {
  return 1 / (1 + std::exp(-x));
}
template <class T>
T log1p_exp(T x) {
  return std::log1p(std::exp(x));
}
template <class T>
constexpr T kSqrtHalf = T(0.70710678118654752440);
template <class T>
constexpr T kSqrtTwoOverPi = T(0.79788456080286535588);

/// Functions that integers have too.
template <class T>
Function<T> number_function(Fn fn) {
  switch (fn) {
    case Fn::Abs:
      return [](T x, T, T) {
        if constexpr (kIsFloat<T>)
          return std::fabs(x);
        else
          return x < 0 ? wrapping_sub(T(0), x) : x;
      };
    case Fn::Neg:
      return [](T x, T, T) {
        if constexpr (kIsFloat<T>)
          return -x;
        else
          return wrapping_sub(T(0), x);
      };
    case Fn::Relu:
      return [](T x, T, T) { return x < T(0) ? T(0) : x; };
    case Fn::Square:
      return [](T x, T, T) { return wrapping_mul(x, x); };
    case Fn::Sign:
      return [](T x, T, T) { return T(int{x > 0} - int{x < 0}); };
    case Fn::Clamp:
      return [](T x, T low, T high) {
        const T y = x < low ? low : x;
        return y > high ? high : y;
      };
    case Fn::BitwiseNot:
      return [](T x, T, T) {
        if constexpr (std::is_same_v<T, Bool>)
          return Bool(!x);
        else
          return convert<T>(~convert<int64_t>(x));
      };
    default:
      return [](T x, T, T) { return x; };  // rounding an integer
  }
}

template <class T>
Function<T> float_function(Fn fn) {
  switch (fn) {
    case Fn::Sigmoid:
      return [](T x, T, T) { return sigmoid(x); };
    case Fn::Tanh:
      return [](T x, T, T) { return std::tanh(x); };
    case Fn::Exp:
      return [](T x, T, T) { return std::exp(x); };
    case Fn::Log:
      return [](T x, T, T) { return std::log(x); };
    case Fn::Sqrt:
      return [](T x, T, T) { return std::sqrt(x); };
    case Fn::Rsqrt:
      return [](T x, T, T) { return 1 / std::sqrt(x); };
    case Fn::Reciprocal:
      return [](T x, T, T) { return 1 / x; };
    case Fn::Sin:
      return [](T x, T, T) { return std::sin(x); };
    case Fn::Cos:
      return [](T x, T, T) { return std::cos(x); };
    case Fn::Erf:
      return [](T x, T, T) { return std::erf(x); };
    case Fn::Floor:
      return [](T x, T, T) { return std::floor(x); };
    case Fn::Ceil:
      return [](T x, T, T) { return std::ceil(x); };
    case Fn::Round:
      return [](T x, T, T) { return std::nearbyint(x); };
    case Fn::Trunc:
      return [](T x, T, T) { return std::trunc(x); };
    case Fn::Log1p:
      return [](T x, T, T) { return std::log1p(x); };
    case Fn::Expm1:
      return [](T x, T, T) { return std::expm1(x); };
    case Fn::Gelu:
      return [](T x, T, T) { return x * T(0.5) * (1 + std::erf(x * kSqrtHalf<T>)); };
    case Fn::GeluTanh:
      return [](T x, T, T) {
        const T inner = kSqrtTwoOverPi<T> * (x + T(0.044715) * x * x * x);
        return T(0.5) * x * (1 + std::tanh(inner));
      };
    case Fn::Silu:
      return [](T x, T, T) { return x / (1 + std::exp(-x)); };
    case Fn::Hardswish:
      return [](T x, T, T) { return x * clamp(x + 3, T(0), T(6)) / 6; };
    case Fn::Hardsigmoid:
      return [](T x, T, T) { return clamp(x + 3, T(0), T(6)) / 6; };
    case Fn::Mish:
      return [](T x, T, T) { return x * std::tanh(log1p_exp(x)); };
    case Fn::Softplus:
      return [](T x, T beta, T threshold) {
        return x * beta > threshold ? x : log1p_exp(x * beta) / beta;
      };
    case Fn::LeakyRelu:
      return [](T x, T slope, T) { return x > 0 ? x : x * slope; };
    case Fn::Elu:
      return
          [](T x, T alpha, T scale) { return x < 0 ? scale * (alpha * std::expm1(x)) : scale * x; };
    case Fn::Tan:
      return [](T x, T, T) { return std::tan(x); };
    case Fn::Asin:
      return [](T x, T, T) { return std::asin(x); };
    case Fn::Acos:
      return [](T x, T, T) { return std::acos(x); };
    case Fn::Atan:
      return [](T x, T, T) { return std::atan(x); };
    case Fn::Sinh:
      return [](T x, T, T) { return std::sinh(x); };
    case Fn::Cosh:
      return [](T x, T, T) { return std::cosh(x); };
    case Fn::Log2:
      return [](T x, T, T) { return std::log2(x); };
    case Fn::Log10:
      return [](T x, T, T) { return std::log10(x); };
    case Fn::Exp2:
      return [](T x, T, T) { return std::exp2(x); };
    case Fn::Softsign:
      return [](T x, T, T) { return x / (1 + std::fabs(x)); };
    case Fn::LogSigmoid:
      return [](T x, T, T) { return minimum(x, T(0)) - log1p_exp(-std::fabs(x)); };
    default:
      return number_function<T>(fn);
  }
}

/// alpha or beta as an element; of an integer type the nearest there is, so that -inf is "no
/// bound".
template <class T>
T bound(double value) {
  if constexpr (std::is_integral_v<T>) {
    if (value <= static_cast<double>(std::numeric_limits<T>::min()))
      return std::numeric_limits<T>::min();
    if (value >= static_cast<double>(std::numeric_limits<T>::max()))
      return std::numeric_limits<T>::max();
  }
  return convert<T>(value);
}

template <class T>
using Predicate = bool (*)(T x);

template <class T>
Predicate<T> predicate(Fn fn) {
  if (fn == Fn::LogicalNot) return [](T x) { return x == T(0); };
  if constexpr (kIsFloat<T>) {
    if (fn == Fn::IsNan) return [](T x) { return std::isnan(x); };
    return [](T x) { return std::isinf(x); };
  }
  return [](T) { return false; };
}

template <class T>
Status run_typed(const RunContext& context) {
  const auto& a = context.attrs.as<fb::Unary>();
  const T* x = context.inputs[0].as<const T>();
  const int64_t count = context.inputs[0].numel();
  if (is_predicate(a.fn())) {
    const Predicate<T> function = predicate<T>(a.fn());
    Bool* y = context.outputs[0].as<Bool>();
    for (int64_t i = 0; i < count; ++i) y[i] = function(x[i]);
    return Status();
  }
  Function<T> function;
  if constexpr (kIsFloat<T>)
    function = float_function<T>(a.fn());
  else
    function = number_function<T>(a.fn());
  const T alpha = bound<T>(a.alpha());
  const T beta = bound<T>(a.beta());
  T* y = context.outputs[0].as<T>();
  for (int64_t i = 0; i < count; ++i) y[i] = function(x[i], alpha, beta);
  return Status();
}

Status run(void*, const RunContext& context) {
  return visit_dtype(ComputeTypes{}, context.inputs[0].dtype,
                     [&](auto type) { return run_typed<typename decltype(type)::type>(context); });
}

}  // namespace

const OpDef unary_op = {1, 1, 1, 0, 0b1, false, infer, work, {nullptr, nullptr, run, nullptr}};

}  // namespace lazyrt
