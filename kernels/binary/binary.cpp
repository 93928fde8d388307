// Elementwise functions of two operands, NumPy broadcasting.

#include <cmath>

#include "kernels/common/arithmetic.h"
#include "kernels/common/check.h"
#include "kernels/common/element.h"
#include "kernels/common/strides.h"

namespace lazyrt {

extern const OpDef binary_op;

namespace {

using Fn = fb::BinaryFn;

bool is_predicate(Fn fn) { return fn >= Fn::LogicalAnd; }

bool divides(Fn fn) {
  return fn == Fn::Fmod || fn == Fn::Remainder || fn == Fn::FloorDivide || fn == Fn::TruncDivide;
}

DTypeSet allowed_types(Fn fn) {
  switch (fn) {
    case Fn::Div:
    case Fn::Atan2:
      return kFloatTypes;
    case Fn::Sub:
    case Fn::Pow:
    case Fn::Fmod:
    case Fn::Remainder:
    case Fn::FloorDivide:
    case Fn::TruncDivide:
      return kNumberTypes;
    case Fn::BitwiseAnd:
    case Fn::BitwiseOr:
    case Fn::BitwiseXor:
      return kIntegerTypes | kBoolType;
    default:
      return kComputeTypes;
  }
}

Status infer(const OpAttrs& attrs, Span<const TensorSpec> in, Span<TensorSpec> out) {
  LAZYRT_RETURN_IF_ERROR(check_operands("binary", binary_op, in, out));
  const Fn fn = attrs.as<fb::Binary>().fn();
  LAZYRT_RETURN_IF_ERROR(
      check_range("binary", "fn", static_cast<int>(fn), 0, static_cast<int>(Fn::MAX)));
  const char* name = fb::EnumNameBinaryFn(fn);
  LAZYRT_RETURN_IF_ERROR(check_dtype(name, "a", in[0], allowed_types(fn)));
  LAZYRT_RETURN_IF_ERROR(check_dtype(name, "b", in[1], dtype_set(in[0].dtype)));
  Shape shape;
  if (!broadcast_shapes(in[0].shape, in[1].shape, &shape)) {
    return Status(Error::kInvalidArgument, "%s: shapes %s and %s do not broadcast", name,
                  shape_text(in[0].shape).text, shape_text(in[1].shape).text);
  }
  return set_output(name, &out[0], is_predicate(fn) ? DType::kBool : in[0].dtype, shape);
}

/// Powers and remainders, also of integers, are calls of the math library or loops as long.
Work work(const OpAttrs& attrs, Span<const TensorSpec> in, Span<const TensorSpec> out) {
  const Fn fn = attrs.as<fb::Binary>().fn();
  const bool calls = divides(fn) || fn == Fn::Pow || fn == Fn::Atan2;
  return volume(out[0].shape) * (calls ? kMathCall : Work(0)) + work_by_size(attrs, in, out);
}

template <class T>
T bitwise(Fn fn, T a, T b) {
  const int64_t x = convert<int64_t>(a), y = convert<int64_t>(b);
  return convert<T>(fn == Fn::BitwiseAnd ? x & y : fn == Fn::BitwiseOr ? x | y : x ^ y);
}

template <class T>
using Function = T (*)(T a, T b);

template <class T>
Function<T> number_function(Fn fn) {
  switch (fn) {
    case Fn::Sub:
      return [](T a, T b) { return wrapping_sub(a, b); };
    case Fn::Pow:
      return [](T a, T b) { return power(a, b); };
    case Fn::Fmod:
      return [](T a, T b) { return fmod_of(a, b); };
    case Fn::Remainder:
      return [](T a, T b) { return remainder_of(a, b); };
    case Fn::FloorDivide:
      return [](T a, T b) { return floor_divide(a, b); };
    case Fn::TruncDivide:
      return [](T a, T b) { return trunc_divide(a, b); };
    default:
      break;
  }
  if constexpr (kIsFloat<T>) {
    if (fn == Fn::Div) return [](T a, T b) { return a / b; };
    return [](T a, T b) { return std::atan2(a, b); };
  } else {
    if (fn == Fn::BitwiseAnd) return [](T a, T b) { return bitwise(Fn::BitwiseAnd, a, b); };
    if (fn == Fn::BitwiseOr) return [](T a, T b) { return bitwise(Fn::BitwiseOr, a, b); };
    return [](T a, T b) { return bitwise(Fn::BitwiseXor, a, b); };
  }
}

template <class T>
Function<T> function(Fn fn) {
  switch (fn) {
    case Fn::Add:
      return [](T a, T b) { return wrapping_add(a, b); };
    case Fn::Mul:
      return [](T a, T b) { return wrapping_mul(a, b); };
    case Fn::Minimum:
      return [](T a, T b) { return minimum(a, b); };
    case Fn::Maximum:
      return [](T a, T b) { return maximum(a, b); };
    default:
      break;
  }
  if constexpr (std::is_same_v<T, Bool>) {
    if (fn == Fn::BitwiseAnd) return [](T a, T b) { return Bool(a && b); };
    if (fn == Fn::BitwiseOr) return [](T a, T b) { return Bool(a || b); };
    return [](T a, T b) { return Bool(bool{a} != bool{b}); };
  } else {
    return number_function<T>(fn);
  }
}

template <class T>
using Predicate = Bool (*)(T a, T b);

template <class T>
bool truth(T x) {
  return convert<Bool>(x);
}

template <class T>
Predicate<T> predicate(Fn fn) {
  switch (fn) {
    case Fn::LogicalAnd:
      return [](T a, T b) { return Bool(truth(a) && truth(b)); };
    case Fn::LogicalOr:
      return [](T a, T b) { return Bool(truth(a) || truth(b)); };
    case Fn::LogicalXor:
      return [](T a, T b) { return Bool(truth(a) != truth(b)); };
    case Fn::Eq:
      return [](T a, T b) { return Bool(a == b); };
    case Fn::Ne:
      return [](T a, T b) { return Bool(a != b); };
    case Fn::Lt:
      return [](T a, T b) { return Bool(a < b); };
    case Fn::Le:
      return [](T a, T b) { return Bool(a <= b); };
    case Fn::Gt:
      return [](T a, T b) { return Bool(a > b); };
    default:
      return [](T a, T b) { return Bool(a >= b); };
  }
}

template <class T, class R>
void apply(const RunContext& context, R (*f)(T, T)) {
  const TensorView& a = context.inputs[0];
  const TensorView& b = context.inputs[1];
  const TensorView& y = context.outputs[0];
  const LoopNest<3> loops(y.shape, {row_major(y.shape), broadcast_strides(a.shape, y.shape),
                                    broadcast_strides(b.shape, y.shape)});
  loops.for_each_row([&](const int64_t* offset, int64_t count, const int64_t* step) {
    R* out = y.as<R>() + offset[0];
    const T* left = a.as<const T>() + offset[1];
    const T* right = b.as<const T>() + offset[2];
    for (int64_t i = 0; i < count; ++i) out[i] = f(left[i * step[1]], right[i * step[2]]);
  });
}

template <class T>
bool has_zero(const TensorView& b) {
  const T* data = b.as<const T>();
  for (int64_t i = 0, n = b.numel(); i < n; ++i) {
    if (data[i] == T(0)) return true;
  }
  return false;
}

template <class T>
Status run_typed(const RunContext& context) {
  const Fn fn = context.attrs.as<fb::Binary>().fn();
  if constexpr (!kIsFloat<T>) {
    if (divides(fn) && context.outputs[0].numel() > 0 && has_zero<T>(context.inputs[1])) {
      return Status(Error::kOutOfRange, "%s: integer division by zero", fb::EnumNameBinaryFn(fn));
    }
  }
  if (is_predicate(fn))
    apply<T, Bool>(context, predicate<T>(fn));
  else
    apply<T, T>(context, function<T>(fn));
  return Status();
}

Status run(void*, const RunContext& context) {
  return visit_dtype(ComputeTypes{}, context.inputs[0].dtype,
                     [&](auto type) { return run_typed<typename decltype(type)::type>(context); });
}

}  // namespace

const OpDef binary_op = {2, 2, 1, 0, 0b11, false, infer, work, {nullptr, nullptr, run, nullptr}};

}  // namespace lazyrt
