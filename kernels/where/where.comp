#version 450
// condition ? a : b, with broadcasting; moves elements of any type.
#include "linear.glsl"
#include "operands.glsl"
#include "elements.glsl"

layout(constant_id = 0) const uint kType = 1;

PUSH
  uint count;
  uint rank;
  uint extents[6];
  uint condition_strides[6];
  uint a_strides[6];
  uint b_strides[6];
PUSH_END

OPERAND(0, , condition);
OPERAND(1, , a);
OPERAND(2, , b);
OPERAND(3, , y);

void main() {
  const uint first = 4u * invocation();
  if (first >= push.count) return;
  uvec4 results = uvec4(0u);
  for (uint k = 0u; k < 4u && first + k < push.count; ++k) {
    uint place = first + k, c = 0u, i = 0u, j = 0u;
    for (uint d = push.rank - 1u; d > 0u; --d) {
      const uint outer = place / push.extents[d];
      const uint index = place - outer * push.extents[d];
      c += index * push.condition_strides[d];
      i += index * push.a_strides[d];
      j += index * push.b_strides[d];
      place = outer;
    }
    c += place * push.condition_strides[0];
    i += place * push.a_strides[0];
    j += place * push.b_strides[0];
    const bool takes_a = LOAD_INT(condition, 0, kBool, c) != 0;
    if (kType == kI64) {
      const uvec2 v = takes_a ? LOAD_I64(a, 1, i) : LOAD_I64(b, 2, j);
      STORE_I64(y, 3, first + k, v);
    } else {
      results[k] = uint(takes_a ? LOAD_INT(a, 1, kType, i) : LOAD_INT(b, 2, kType, j));
    }
  }
  if (kType != kI64) STORE_4(y, 3, kType, first, push.count, results);
}
