// Elementwise functions of two operands, NumPy broadcasting.

#include "kernels/binary/scalar_forms.h"
#include "kernels/common/check.h"
#include "kernels/common/strides.h"

namespace lazyrt {

extern const OpDef binary_op;

namespace {

using Fn = fb::BinaryFn;

Fault infer(const OpAttrs& attrs, Span<const TensorSpec> in, Span<TensorSpec> out) {
  LAZYRT_RETURN_IF_ERROR(check_operands("binary", binary_op, in, out));
  const Fn fn = attrs.as<fb::Binary>().fn();
  LAZYRT_RETURN_IF_ERROR(
      check_range("binary", "fn", static_cast<int>(fn), 0, static_cast<int>(Fn::MAX)));
  const char* name = fb::EnumNameBinaryFn(fn);
  LAZYRT_RETURN_IF_ERROR(check_dtype(name, "a", in[0], binary_types(binary_kind(fn))));
  LAZYRT_RETURN_IF_ERROR(check_dtype(name, "b", in[1], dtype_set(in[0].dtype)));
  Shape shape;
  if (!broadcast_shapes(in[0].shape, in[1].shape, &shape)) {
    return Fault(Error::kInvalidArgument, "%s: shapes %s and %s do not broadcast", name,
                 shape_text(in[0].shape).text, shape_text(in[1].shape).text);
  }
  return set_output(name, &out[0], gives_bool(binary_kind(fn)) ? DType::kBool : in[0].dtype, shape);
}

int fn(const OpAttrs& attrs) { return static_cast<int>(attrs.as<fb::Binary>().fn()); }

/// Powers and remainders, also those of integers, are calls of the math library or loops that take
/// as long.
Work work(const OpAttrs& attrs, Span<const TensorSpec> in, Span<const TensorSpec> out) {
  const Fn fn = attrs.as<fb::Binary>().fn();
  const bool calls = binary_traits(fn).cost == BinaryCost::kCall;
  return volume(out[0].shape) * (calls ? kMathCall : Work(0)) + work_by_size(attrs, in, out);
}

template <class T, class R>
using Function = R (*)(T a, T b);

/// F on T; nullptr if F does not take T, does not give R, or is not kept for T.
template <class T, class R, class F>
constexpr Function<T, R> function_of() {
  if constexpr (kTakes<F, T> && keeps(kDTypeOf<T>, kept_types_of(F::kNumber)) &&
                std::is_same_v<typename F::template Result<T>, R>)
    return F::template f<T>;
  return nullptr;
}

/// REQUIRES: `infer` accepted it.
template <class T, class R>
Function<T, R> function(Fn fn) {
  switch (fn) {
#define LAZYRT_BINARY(number, Name, ...) \
  case Fn::Name:                         \
    return function_of<T, R, binary_functions::Name>();
#include "kernels/binary/functions.inc"
#undef LAZYRT_BINARY
  }
  return nullptr;
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
Fault run_typed(const RunContext& context) {
  const Fn fn = context.attrs.as<fb::Binary>().fn();
  if constexpr (!kIsFloat<T>) {
    if (binary_kind(fn) == BinaryKind::kDivision && context.outputs[0].numel() > 0 &&
        has_zero<T>(context.inputs[1])) {
      return division_by_zero(fb::EnumNameBinaryFn(fn));
    }
  }
  if constexpr (!std::is_same_v<T, Bool>) {
    if (!gives_bool(binary_kind(fn))) {
      apply(context, function<T, T>(fn));
      return Fault();
    }
  }
  apply(context, function<T, Bool>(fn));
  return Fault();
}

Fault run(void*, const RunContext& context) {
  return visit_dtype(ComputeTypes{}, context.inputs[0].dtype,
                     [&](auto type) { return run_typed<typename decltype(type)::type>(context); });
}

}  // namespace

const OpDef binary_op = define_op(infer, work, run)
                            .with_inputs(2, 2)
                            .with_inplace_inputs(0b11)
                            .with_functions({&fn, fb::EnumNamesBinaryFn});

}  // namespace lazyrt
