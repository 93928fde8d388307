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

/// A shape split by a set of axes into kept and reduced dims, with x's strides for both.
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

/// The intermediate result of a fold: a sum, product or truth in the widest type, or an extreme.
template <class T>
struct Folded {
  using Wide = std::conditional_t<kIsFloat<T>, double, int64_t>;
  Wide wide = 0;
  T element = T();
};

/// Folds a row of elements into *value.
template <class T>
using FoldRow = void (*)(Folded<T>* value, const T* first, int64_t count, int64_t stride);

template <class T>
void add_row(Folded<T>* value, const T* first, int64_t count, int64_t stride) {
  using Wide = typename Folded<T>::Wide;
  for (int64_t i = 0; i < count; ++i)
    value->wide = wrapping_add(value->wide, static_cast<Wide>(first[i * stride]));
}
template <class T>
void multiply_row(Folded<T>* value, const T* first, int64_t count, int64_t stride) {
  using Wide = typename Folded<T>::Wide;
  for (int64_t i = 0; i < count; ++i)
    value->wide = wrapping_mul(value->wide, static_cast<Wide>(first[i * stride]));
}
template <class T>
void maximum_row(Folded<T>* value, const T* first, int64_t count, int64_t stride) {
  for (int64_t i = 0; i < count; ++i) value->element = maximum(value->element, first[i * stride]);
}
template <class T>
void minimum_row(Folded<T>* value, const T* first, int64_t count, int64_t stride) {
  for (int64_t i = 0; i < count; ++i) value->element = minimum(value->element, first[i * stride]);
}
template <class T>
void any_row(Folded<T>* value, const T* first, int64_t count, int64_t stride) {
  for (int64_t i = 0; i < count; ++i) {
    if (convert<Bool>(first[i * stride])) value->wide = 1;
  }
}
template <class T>
void all_row(Folded<T>* value, const T* first, int64_t count, int64_t stride) {
  for (int64_t i = 0; i < count; ++i) {
    if (!convert<Bool>(first[i * stride])) value->wide = 0;
  }
}

/// For each result calls begin(), then fold(offset of a row of its elements, their count, their
/// stride) for all its rows, then finish(offset of the result).
template <class Begin, class FoldOne, class Finish>
void for_each_result(const Split& s, const Begin& begin, const FoldOne& fold,
                     const Finish& finish) {
  const LoopNest<2> outputs(s.kept, {row_major(s.kept), s.kept_strides});
  const LoopNest<1> elements(s.reduced, {s.reduced_strides});
  outputs.for_each_row([&](const int64_t* offset, int64_t count, const int64_t* stride) {
    for (int64_t i = 0; i < count; ++i) {
      begin();
      elements.for_each_row([&](const int64_t* at, int64_t n, const int64_t* by) {
        fold(offset[1] + i * stride[1] + at[0], n, by[0]);
      });
      finish(offset[0] + i * stride[0]);
    }
  });
}

/// The function's fold of a row, and its initial value.
template <class T>
FoldRow<T> choose_row(Fn fn, Folded<T>* start) {
  using Limits = std::numeric_limits<T>;
  switch (fn) {
    case Fn::Sum:
    case Fn::Mean:
      return add_row<T>;
    case Fn::Prod:
      start->wide = 1;
      return multiply_row<T>;
    case Fn::Max:
      start->element = Limits::has_infinity ? T(-Limits::infinity()) : Limits::lowest();
      return maximum_row<T>;
    case Fn::Min:
      start->element = Limits::has_infinity ? Limits::infinity() : Limits::max();
      return minimum_row<T>;
    case Fn::Any:
      return any_row<T>;
    case Fn::All:
      break;
  }
  start->wide = 1;
  return all_row<T>;
}

template <class T>
Fault run_typed(const RunContext& context) {
  const auto& a = context.attrs.as<fb::Reduce>();
  uint32_t axes = 0;
  LAZYRT_RETURN_IF_ERROR(read_axes("reduce", a.axes(), context.inputs[0].shape.rank(), &axes));
  const Split s = split(context.inputs[0].shape, axes);
  Folded<T> start, value;
  const FoldRow<T> row = choose_row(a.fn(), &start);
  const bool is_extreme = a.fn() == Fn::Max || a.fn() == Fn::Min;
  const bool is_truth = a.fn() == Fn::Any || a.fn() == Fn::All;
  const double count = static_cast<double>(s.reduced.numel());
  const T* x = context.inputs[0].as<const T>();
  const TensorView& y = context.outputs[0];
  for_each_result(
      s, [&] { value = start; },
      [&](int64_t first, int64_t n, int64_t stride) { row(&value, x + first, n, stride); },
      [&](int64_t at) {
        if (is_truth)
          y.as<Bool>()[at] = convert<Bool>(value.wide);
        else if (is_extreme)
          y.as<T>()[at] = value.element;
        else if (a.fn() == Fn::Mean)
          y.as<T>()[at] = convert<T>(static_cast<double>(value.wide) / count);
        else
          y.as<T>()[at] = convert<T>(value.wide);
      });
  return Fault();
}

/// Max and min of bools are any and all.
Fault run(void*, const RunContext& context) {
  if (context.outputs[0].numel() == 0) return {};
  if (keeps(DType::kBool) && context.inputs[0].dtype == DType::kBool) {
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

const OpDef reduce_op = define_op(infer, work_by_size, run);

}  // namespace lazyrt
