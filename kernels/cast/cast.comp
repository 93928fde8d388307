#version 450
// Elements of one type as another, as torch's `to`.
#include "linear.glsl"
#include "operands.glsl"
#include "elements.glsl"
#include "int64.glsl"

layout(constant_id = 0) const uint kFrom = 1;
layout(constant_id = 1) const uint kTo = 1;

PUSH
  uint count;
PUSH_END

OPERAND(0, , x);
OPERAND(1, , y);

/// Its bits, of which kTo takes as many as it has.
uvec2 converted_float(uint bits) {
  if (kTo == kF32) return uvec2(bits, 0u);
  if (kTo == kBool) return uvec2((bits & 0x7fffffffu) != 0u ? 1u : 0u, 0u);
  return from_float64(uintBitsToFloat(bits));
}
uvec2 converted_int(int v) {
  if (kTo == kF32) return uvec2(floatBitsToUint(float(v)), 0u);
  return from_int64(v);
}
uvec2 converted_int64(uvec2 v) {
  if (kTo == kF32) return uvec2(floatBitsToUint(to_float64(v)), 0u);
  if (kTo == kBool) return uvec2(v != uvec2(0u) ? 1u : 0u, 0u);
  return v;
}

void main() {
  const uint first = 4u * invocation();
  if (first >= push.count) return;
  uvec4 results = uvec4(0u);
  for (uint k = 0u; k < 4u && first + k < push.count; ++k) {
    const uint i = first + k;
    uvec2 v;
    if (kFrom == kF32) {
      v = converted_float(WORD(x, 0, i));
    } else if (kFrom == kI64) {
      v = converted_int64(LOAD_I64(x, 0, i));
    } else {
      v = converted_int(LOAD_INT(x, 0, kFrom, i));
    }
    if (kTo == kI64) {
      STORE_I64(y, 1, i, v);
    } else {
      results[k] = v.x;
    }
  }
  if (kTo != kI64) STORE_4(y, 1, kTo, first, push.count, results);
}
