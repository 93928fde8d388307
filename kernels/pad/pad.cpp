// Padding and cropping of any dims.

#include <algorithm>

#include "kernels/common/check.h"
#include "kernels/common/element.h"
#include "kernels/common/strides.h"
#include "kernels/pad/pad_source.h"

namespace lazyrt {

extern const OpDef pad_op;

namespace {

using Mode = fb::PadMode;

/// The largest padding for which a mode has source elements.
int64_t most_padding(Mode mode, int64_t extent) {
  if (mode == Mode::Reflect) return extent - 1;
  if (mode == Mode::Circular) return extent;
  if (mode == Mode::Replicate && extent == 0) return 0;
  return kMaxTensorBytes;
}

Fault infer(const OpAttrs& attrs, Span<const TensorSpec> in, Span<TensorSpec> out) {
  LAZYRT_RETURN_IF_ERROR(check_operands("pad", pad_op, in, out));
  const auto& a = attrs.as<fb::Pad>();
  LAZYRT_RETURN_IF_ERROR(
      check_range("pad", "mode", static_cast<int>(a.mode()), 0, static_cast<int>(Mode::MAX)));
  Shape shape = in[0].shape;
  LAZYRT_RETURN_IF_ERROR(check_length("pad", "before", a.before(), shape.rank()));
  LAZYRT_RETURN_IF_ERROR(check_length("pad", "after", a.after(), shape.rank()));
  const Shape before = attribute_list(a.before());
  const Shape after = attribute_list(a.after());
  for (int i = 0; i < shape.rank(); ++i) {
    if (before[i] == 0 && after[i] == 0) continue;
    const int64_t least = a.mode() == Mode::Constant ? -shape[i] : 0;
    const int64_t most = most_padding(a.mode(), shape[i]);
    LAZYRT_RETURN_IF_ERROR(check_range("pad", "before", before[i], least, most));
    LAZYRT_RETURN_IF_ERROR(check_range("pad", "after", after[i], least, most));
    if (__builtin_add_overflow(shape[i], before[i], &shape[i]) ||
        __builtin_add_overflow(shape[i], after[i], &shape[i])) {
      return Fault(Error::kInvalidArgument, "pad: dim %d of the result overflows", i);
    }
  }
  return set_output("pad", &out[0], in[0].dtype, shape);
}

template <class T>
class Padder {
 public:
  explicit Padder(const RunContext& context)
      : mode_(context.attrs.as<fb::Pad>().mode()),
        value_(convert<T>(context.attrs.as<fb::Pad>().value())),
        before_(attribute_list(context.attrs.as<fb::Pad>().before())),
        x_shape_(context.inputs[0].shape),
        y_shape_(context.outputs[0].shape),
        x_strides_(row_major(x_shape_)),
        y_strides_(row_major(y_shape_)) {}

  /// Writes y from `dim` on; x is the sub-tensor that the outer dims selected.
  void pad(int dim, const T* x, T* y) const {
    if (dim == y_shape_.rank()) {
      *y = *x;
      return;
    }
    for (int64_t i = 0; i < y_shape_[dim]; ++i, y += y_strides_[dim]) {
      const int64_t from = pad_source(mode_, i - before_[dim], x_shape_[dim]);
      if (from < 0)
        std::fill(y, y + y_strides_[dim], value_);
      else
        pad(dim + 1, x + from * x_strides_[dim], y);
    }
  }

 private:
  Mode mode_;
  T value_;
  Shape before_, x_shape_, y_shape_;
  Strides x_strides_, y_strides_;
};

Fault run(void*, const RunContext& context) {
  return visit_dtype(AllTypes{}, context.inputs[0].dtype, [&](auto type) {
    using T = typename decltype(type)::type;
    if (context.outputs[0].numel() == 0) return Fault();
    Padder<T>(context).pad(0, context.inputs[0].as<const T>(), context.outputs[0].as<T>());
    return Fault();
  });
}

}  // namespace

const OpDef pad_op = define_op(infer, work_by_size, run);

}  // namespace lazyrt
