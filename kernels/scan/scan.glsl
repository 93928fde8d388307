// Running folds along rows of T; see arithmetic.glsl. The lanes of a row fold one element each at a time, and combine it
// with the fold of all elements before these.

#include "operands.glsl"
#include "elements.glsl"

layout(constant_id = 0) const uint kFunction = 0u;  ///< fb::ScanFn or kSum
layout(constant_id = 1) const uint kType = kF32;

const uint kProd = 0u, kMax = 1u, kMin = 2u, kLogSumExp = 3u, kSum = 4u;

#include "kernels/common/axis_row.glsl"

OPERAND(0, , x);
OPERAND(1, , y);

#include "arithmetic.glsl"

T combined(T a, T b) {
  if (kFunction == kProd) return wrapping_mul(a, b);
  if (kFunction == kMax) return maximum(a, b);
  if (kFunction == kMin) return minimum(a, b);
#ifdef IS_F32
  if (kFunction == kLogSumExp) {
    const float low = minimum(a, b), high = maximum(a, b);
    return low == high && is_infinite(low) ? low : log1p_of(exp_of(low - high)) + high;
  }
#endif
  return wrapping_add(a, b);
}

shared T parts[128];

/// The fold of this lane's value and those of earlier lanes. All invocations of the workgroup call it.
T scan_lanes(T value) {
  const uint t = gl_LocalInvocationIndex, step = push.columns != 0u ? group_rows() : 1u;
  for (uint n = 1u; n < lanes(); n *= 2u) {
    barrier();
    parts[t] = value;
    barrier();
    if (lane() >= n) value = combined(parts[t - n * step], value);
  }
  barrier();
  parts[t] = value;
  barrier();
  return value;
}

void main() {
  const uint row = row_index(), t = gl_LocalInvocationIndex;
  const uint count = row < push.rows ? push.extent : 0u;
  const uint first = first_of_row(row);
  const uint last_lane = push.columns != 0u ? 128u - group_rows() + t % group_rows() : t | (lanes() - 1u);
  T carry = T(0);
  for (uint begin = 0u; begin < push.extent; begin += lanes()) {
    const uint e = begin + lane();
    T value = T(0);
    if (e < count) value = LOAD_T(x, 0, first + e * push.inner);
    value = scan_lanes(value);
    const T sum = parts[last_lane];
    if (begin != 0u) value = combined(carry, value);
    if (e < count) STORE_T(y, 1, first + e * push.inner, value);
    carry = begin != 0u ? combined(carry, sum) : sum;
  }
}
