// Sum, mean, product, extremes, any, all over a set of axes.

#include "kernels/common/arithmetic.h"
#include "kernels/common/check.h"
#include "kernels/common/element.h"
#include "kernels/common/strides.h"

namespace lazyrt {

extern const OpDef reduce_op;

namespace {

using Fn = fb::ReduceFn;

DTypeSet allowed_types(Fn fn) {
  return fn == Fn::Mean                    ? kFloatTypes
         : fn == Fn::Sum || fn == Fn::Prod ? kNumberTypes
                                           : kComputeTypes;
}

/// A shape split by a set of axes into what stays and what is reduced, with x's strides for both.
struct Split {
  Shape kept, reduced;
  Strides kept_strides, reduced_strides;
};
Split split(const Shape& x, uint32_t axes) {
  const Strides own = row_major(x);
  Split s;
  for (int i = 0; i < x.rank(); ++i) {
    const bool reduces = (axes >> i & 1) != 0;
    Shape& shape = reduces ? s.reduced : s.kept;
    (reduces ? s.reduced_strides : s.kept_strides)[shape.rank()] = own[i];
    shape.append(x[i]);
  }
  return s;
}

Fault infer(const OpAttrs& attrs, Span<const TensorSpec> in, Span<TensorSpec> out) {
  LAZYRT_RETURN_IF_ERROR(check_operands("reduce", reduce_op, in, out));
  const auto& a = attrs.as<fb::Reduce>();
  LAZYRT_RETURN_IF_ERROR(
      check_range("reduce", "fn", static_cast<int>(a.fn()), 0, static_cast<int>(Fn::MAX)));
  const char* name = fb::EnumNameReduceFn(a.fn());
  const Shape& x = in[0].shape;
  LAZYRT_RETURN_IF_ERROR(check_dtype(name, "x", in[0], allowed_types(a.fn())));
  LAZYRT_RETURN_IF_ERROR(
      check_range(name, "number of axes", attribute_size(a.axes()), 1, x.rank()));
  uint32_t axes = 0;
  LAZYRT_RETURN_IF_ERROR(read_axes(name, a.axes(), x.rank(), &axes));
  const Split s = split(x, axes);
  if ((a.fn() == Fn::Max || a.fn() == Fn::Min) && s.reduced.numel() == 0) {
    return Fault(Error::kInvalidArgument, "reduce: %s over no elements of x %s", name,
                 shape_text(x).text);
  }
  Shape shape = a.keepdim() ? x : s.kept;
  for (int i = 0; a.keepdim() && i < x.rank(); ++i) {
    if ((axes >> i & 1) != 0) shape[i] = 1;
  }
  const bool is_predicate = a.fn() == Fn::Any || a.fn() == Fn::All;
  return set_output(name, &out[0], is_predicate ? DType::kBool : in[0].dtype, shape);
}

/// y = finish(start folded with every reduced element by step).
template <class T, class R, class Acc, class Step, class Finish>
void fold(const RunContext& context, const Split& s, Acc start, Step step, Finish finish) {
  const T* x = context.inputs[0].as<const T>();
  R* y = context.outputs[0].as<R>();
  const LoopNest<2> outputs(s.kept, {row_major(s.kept), s.kept_strides});
  const LoopNest<1> elements(s.reduced, {s.reduced_strides});
  outputs.for_each_row([&](const int64_t* offset, int64_t count, const int64_t* stride) {
    for (int64_t i = 0; i < count; ++i) {
      const T* first = x + offset[1] + i * stride[1];
      Acc value = start;
      elements.for_each_row([&](const int64_t* at, int64_t n, const int64_t* by) {
        for (int64_t j = 0; j < n; ++j) value = step(value, first[at[0] + j * by[0]]);
      });
      y[offset[0] + i * stride[0]] = finish(value);
    }
  });
}

template <class T>
Fault run_typed(const RunContext& context) {
  const auto& a = context.attrs.as<fb::Reduce>();
  uint32_t axes = 0;
  LAZYRT_RETURN_IF_ERROR(read_axes("reduce", a.axes(), context.inputs[0].shape.rank(), &axes));
  const Split s = split(context.inputs[0].shape, axes);
  using Acc = std::conditional_t<kIsFloat<T>, double, int64_t>;
  using Limits = std::numeric_limits<T>;
  const auto to_element = [](Acc v) { return convert<T>(v); };
  const auto same = [](auto v) { return v; };
  const double count = static_cast<double>(s.reduced.numel());
  switch (a.fn()) {
    case Fn::Sum:
      fold<T, T>(
          context, s, Acc(0), [](Acc v, T x) { return wrapping_add(v, Acc(x)); }, to_element);
      break;
    case Fn::Mean:
      fold<T, T>(
          context, s, 0.0, [](double v, T x) { return v + static_cast<double>(x); },
          [&](double v) { return convert<T>(v / count); });
      break;
    case Fn::Prod:
      fold<T, T>(
          context, s, Acc(1), [](Acc v, T x) { return wrapping_mul(v, Acc(x)); }, to_element);
      break;
    case Fn::Max:
      fold<T, T>(context, s, Limits::has_infinity ? T(-Limits::infinity()) : Limits::lowest(),
                 maximum<T>, same);
      break;
    case Fn::Min:
      fold<T, T>(context, s, Limits::has_infinity ? Limits::infinity() : Limits::max(), minimum<T>,
                 same);
      break;
    case Fn::Any:
      fold<T, Bool>(
          context, s, false, [](bool v, T x) { return v || convert<Bool>(x); }, same);
      break;
    case Fn::All:
      fold<T, Bool>(
          context, s, true, [](bool v, T x) { return v && convert<Bool>(x); }, same);
      break;
  }
  return Fault();
}

/// Max and min of bools are any and all.
Fault run(void*, const RunContext& context) {
  if (context.outputs[0].numel() == 0) return {};
  if (context.inputs[0].dtype == DType::kBool) {
    const Fn fn = context.attrs.as<fb::Reduce>().fn();
    RunContext bytes = context;
    TensorView x = context.inputs[0];
    TensorView y = context.outputs[0];
    if (fn == Fn::Max || fn == Fn::Min) x.dtype = y.dtype = DType::kUInt8;
    bytes.inputs = Span<const TensorView>(&x, 1);
    bytes.outputs = Span<const TensorView>(&y, 1);
    LAZYRT_RETURN_IF_ERROR(run_typed<uint8_t>(bytes));
    for (int64_t i = 0, n = y.numel(); i < n; ++i) y.as<Bool>()[i] = bool{y.as<Bool>()[i]};
    return {};
  }
  return visit_dtype(NumberTypes{}, context.inputs[0].dtype,
                     [&](auto type) { return run_typed<typename decltype(type)::type>(context); });
}

}  // namespace

const OpDef reduce_op = {
    1, 1, 1, 0, 0, false, infer, work_by_size, {nullptr, nullptr, run, nullptr}};

}  // namespace lazyrt
