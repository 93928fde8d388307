// A fold of rows of T; see arithmetic.glsl.

#include "operands.glsl"
#include "elements.glsl"

layout(constant_id = 0) const uint kFunction = 0u;  ///< fb::ReduceFn
layout(constant_id = 1) const uint kType = kF32;

const uint kSum = 0u, kMean = 1u, kMax = 2u, kMin = 3u, kProd = 4u, kAny = 5u, kAll = 6u;

PUSH
  uint rows, lanes_log2, columns;
  uint extent;
  // Dims of the results and of what each folds, the innermost first, in steps of x.
  uint kept[4], kept_steps[4];
  uint folded[4], folded_steps[4];
PUSH_END

#include "row.glsl"

OPERAND(0, readonly, x);
OPERAND(1, , y);

#include "arithmetic.glsl"

const bool kGivesTruth = kFunction == kAny || kFunction == kAll;

T combined(T a, T b) {
  switch (kFunction) {
    case kMax:
    case kAny:
      return maximum(a, b);
    case kMin:
    case kAll:
      return minimum(a, b);
    case kProd:
      return wrapping_mul(a, b);
    default:
      return wrapping_add(a, b);
  }
}
FOLD(T, fold_row, combined(a, b))

T start() {
#ifdef IS_F32
  const T lowest = -kInfinity, highest = kInfinity, one = 1.0;
#elif defined(IS_I32)
  const T lowest = int(0x80000000u), highest = 0x7fffffff, one = 1;
#else
  const T lowest = uvec2(0u, 0x80000000u), highest = uvec2(0xffffffffu, 0x7fffffffu), one = kOne64;
#endif
  if (kFunction == kMax) return lowest;
  if (kFunction == kMin) return highest;
  return kFunction == kProd || kFunction == kAll ? one : T(0);
}

#ifdef IS_I64
T as_number(bool v) { return T(v, 0u); }
#else
T as_number(bool v) { return T(v); }
#endif
T load(uint i) {
  const T v = LOAD_T(x, 0, i);
  return kGivesTruth ? as_number(truth(v)) : v;
}

uint offset(uint i, uint extents[4], uint steps[4]) {
  uint at = 0u;
  for (int d = 0; d < 4 && i != 0u; ++d) {
    at += i % extents[d] * steps[d];
    i /= extents[d];
  }
  return at;
}

void main() {
  const uint row = row_index();
  const uint count = row < push.rows ? push.extent : 0u;
  const uint first = offset(row, push.kept, push.kept_steps);
  T value = start();
  if (push.extent <= push.folded[0]) {  // evenly spaced, so without divisions
    for (uint e = lane(); e < count; e += lanes()) value = combined(value, load(first + e * push.folded_steps[0]));
  } else {
    for (uint e = lane(); e < count; e += lanes())
      value = combined(value, load(first + offset(e, push.folded, push.folded_steps)));
  }
  value = fold_row(value);
  if (row >= push.rows || lane() != 0u) return;
#ifdef IS_F32
  if (kFunction == kMean) value = push.extent != 0u ? value / float(push.extent) : kNan;
#endif
  if (kGivesTruth) {
    STORE_ELEMENT(y, 1, kBool, row, uint(truth(value)));
    return;
  }
  STORE_T(y, 1, row, value);
}
