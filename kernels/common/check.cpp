#include "kernels/common/check.h"

#include <cmath>

namespace lazyrt {
namespace {

using ll = long long;

/// The extents, with zeros counted as one, fit kMaxTensorBytes, so strides never overflow either.
Fault check_size(Word op, Word role, int index, DType dtype, const Shape& shape) {
  if (dtype_bits(dtype) % 8 != 0) {
    return Fault(Error::kUnsupported, "%s: %s %d is %s, a type that no kernel computes on yet", op,
                 role, index, dtype_name(dtype));
  }
  int64_t bytes = static_cast<int64_t>(dtype_size(dtype));
  bool fits = bytes > 0 && shape.rank() <= kMaxRank;
  for (int i = 0; fits && i < shape.rank(); ++i) {
    fits = shape[i] >= 0 && !__builtin_mul_overflow(bytes, shape[i] == 0 ? 1 : shape[i], &bytes) &&
           bytes <= kMaxTensorBytes;
  }
  if (fits) return Fault();
  return Fault(Error::kInvalidArgument,
               "%s: %s %d of type %s and shape %s is not a possible tensor", op, role, index,
               dtype_name(dtype), shape_text(shape).text);
}

}  // namespace

Fault check_operands(Word op, const OpDef& def, Span<const TensorSpec> inputs,
                     Span<const TensorSpec> outputs) {
  const int count = static_cast<int>(inputs.size());
  if (count < def.min_inputs || (def.max_inputs >= 0 && count > def.max_inputs)) {
    return Fault(Error::kInvalidArgument, "%s: %d operands, must be %d..%d", op, count,
                 def.min_inputs, def.max_inputs);
  }
  if (static_cast<int>(outputs.size()) != def.outputs) {
    return Fault(Error::kInvalidArgument, "%s: %d results, must be %d", op,
                 static_cast<int>(outputs.size()), def.outputs);
  }
  for (int i = 0; i < count; ++i) {
    const TensorSpec& spec = inputs[static_cast<size_t>(i)];
    if (spec.present()) {
      LAZYRT_RETURN_IF_ERROR(check_size(op, "operand", i, spec.dtype, spec.shape));
    } else if (i >= 32 || (def.optional_inputs >> i & 1) == 0) {
      return Fault(Error::kInvalidArgument, "%s: operand %d is missing", op, i);
    }
  }
  return Fault();
}

Fault check_dtype(Word op, Word operand, const TensorSpec& spec, DTypeSet allowed) {
  if ((allowed >> static_cast<unsigned>(spec.dtype) & 1) != 0) return Fault();
  return Fault(Error::kInvalidArgument, "%s: %s of type %s is not supported", op, operand,
               dtype_name(spec.dtype));
}

Fault check_rank(Word op, Word operand, const TensorSpec& spec, int rank) {
  if (spec.shape.rank() == rank) return Fault();
  return Fault(Error::kInvalidArgument, "%s: %s has shape %s, must have %d dims", op, operand,
               shape_text(spec.shape).text, rank);
}

Fault check_min_rank(Word op, Word operand, const TensorSpec& spec, int rank) {
  if (spec.shape.rank() >= rank) return Fault();
  return Fault(Error::kInvalidArgument, "%s: %s has shape %s, must have at least %d dims", op,
               operand, shape_text(spec.shape).text, rank);
}

Fault check_operand(Word op, Word operand, const TensorSpec& spec, DType dtype,
                    const Shape& shape) {
  if (!spec.present() || (spec.dtype == dtype && spec.shape == shape)) return Fault();
  return Fault(Error::kInvalidArgument, "%s: %s is %s%s, must be %s%s", op, operand,
               dtype_name(spec.dtype), shape_text(spec.shape).text, dtype_name(dtype),
               shape_text(shape).text);
}

Fault check_range(Word op, Word attribute, int64_t value, int64_t low, int64_t high) {
  if (value >= low && value <= high) return Fault();
  return Fault(Error::kInvalidArgument, "%s: %s is %lld, must be in [%lld, %lld]", op, attribute,
               static_cast<ll>(value), static_cast<ll>(low), static_cast<ll>(high));
}

Fault check_axis(Word op, int64_t axis, int rank) {
  if (axis >= 0 && axis < rank) return Fault();
  return Fault(Error::kInvalidArgument, "%s: axis %lld is not in [0, %d)", op,
               static_cast<ll>(axis), rank);
}

Fault check_clamp(Word op, float min, float max) {
  if (min <= max) return Fault();
  return Fault(Error::kInvalidArgument, "%s: clamp [%g, %g] is empty", op, static_cast<double>(min),
               static_cast<double>(max));
}

Fault check_epsilon(Word op, double epsilon) {
  if (std::isfinite(epsilon) && epsilon >= 0) return Fault();
  return Fault(Error::kInvalidArgument, "%s: epsilon is %g, must be finite and >= 0", op, epsilon);
}

Fault set_output(Word op, TensorSpec* output, DType dtype, const Shape& shape) {
  LAZYRT_RETURN_IF_ERROR(check_size(op, "result", 0, dtype, shape));
  *output = TensorSpec{dtype, shape, nullptr};
  return Fault();
}

Fault count_windows(Word op, const Window& w, int64_t* count) {
  constexpr int64_t kLimit = INT32_MAX;
  if (w.kernel < 1 || w.stride < 1 || w.dilation < 1 || w.pad_before < 0 || w.pad_after < 0 ||
      w.kernel > kLimit || w.stride > kLimit || w.dilation > kLimit || w.pad_before > kLimit ||
      w.pad_after > kLimit) {
    return Fault(Error::kInvalidArgument,
                 "%s: %s has kernel %lld, stride %lld, dilation %lld (each must be >= 1), padding "
                 "%lld and %lld (>= 0)",
                 op, w.dim, static_cast<ll>(w.kernel), static_cast<ll>(w.stride),
                 static_cast<ll>(w.dilation), static_cast<ll>(w.pad_before),
                 static_cast<ll>(w.pad_after));
  }
  const int64_t reach = w.dilation * (w.kernel - 1) + 1;
  const int64_t padded = w.extent + w.pad_before + w.pad_after;
  const int64_t room = padded - reach + (w.ceil_mode ? w.stride - 1 : 0);
  if (room < 0) {
    return Fault(Error::kInvalidArgument, "%s: kernel of %lld is larger than the padded %s of %lld",
                 op, static_cast<ll>(reach), w.dim, static_cast<ll>(padded));
  }
  *count = room / w.stride + 1;
  const bool starts_outside = (*count - 1) * w.stride >= w.extent + w.pad_before;
  if (w.ceil_mode && starts_outside) --*count;
  return Fault();
}

}  // namespace lazyrt
