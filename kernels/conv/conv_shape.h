#pragma once

// The common parts of conv2d and conv_transpose2d: the operand rule and the view of one image.

#include "kernels/common/check.h"

namespace lazyrt {

/// x [N,H,W,C], weight [O,KH,KW,C/groups], bias [O]? of one floating type; groups divides C and O.
inline Fault check_conv_operands(const char* op, Span<const TensorSpec> in, int64_t groups) {
  const TensorSpec& x = in[0];
  const TensorSpec& weight = in[1];
  LAZYRT_RETURN_IF_ERROR(check_dtype(op, "x", x, kFloatTypes));
  LAZYRT_RETURN_IF_ERROR(check_dtype(op, "weight", weight, dtype_set(x.dtype)));
  LAZYRT_RETURN_IF_ERROR(check_rank(op, "x", x, 4));
  LAZYRT_RETURN_IF_ERROR(check_rank(op, "weight", weight, 4));
  LAZYRT_RETURN_IF_ERROR(check_range(op, "groups", groups, 1, INT32_MAX));
  const int64_t channels = x.shape[3];
  const int64_t filters = weight.shape[0];
  if (channels % groups != 0 || filters % groups != 0 || weight.shape[3] != channels / groups) {
    return Fault(Error::kInvalidArgument,
                 "%s: x %s and weight %s do not fit groups %lld: weight must be [O,KH,KW,C/groups]",
                 op, shape_text(x.shape).text, shape_text(weight.shape).text,
                 static_cast<long long>(groups));
  }
  return check_operand(op, "bias", operand_or_absent(in, 2), x.dtype, Shape{filters});
}

}  // namespace lazyrt
