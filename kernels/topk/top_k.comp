#version 450
// Each element counts the elements of its row that precede it, which is its place among the results.
#include "linear.glsl"
#include "operands.glsl"
#include "elements.glsl"
#include "int64.glsl"

layout(constant_id = 0) const uint kType = kF32;

PUSH
  uint count;
  uint extent;
  uint inner;
  uint k;
  uint largest;
PUSH_END

OPERAND(0, readonly, x);
OPERAND(1, , values);
OPERAND(2, writeonly, indices);

/// An element as an unsigned number of the same order; NaN is the largest, and -0 is 0.
uvec2 key_of(uint i) {
  uvec2 key = uvec2(0u);
  if (kType == kI64) {
    key = LOAD_I64(x, 0, i) ^ uvec2(0u, 0x80000000u);
  } else if (kType == kF32) {
    const uint bits = WORD(x, 0, i), size = bits & 0x7fffffffu;
    key.x = size > 0x7f800000u ? 0xffffffffu : size == 0u ? 0x80000000u : bits == size ? bits | 0x80000000u : ~bits;
  } else {
    key.x = uint(LOAD_INT(x, 0, kType, i)) ^ 0x80000000u;
  }
  return push.largest != 0u ? ~key : key;
}

void main() {
  const uint i = invocation();
  if (i >= push.count) return;
  const uint inner = i % push.inner, own = i / push.inner % push.extent;
  const uint outer = i / push.inner / push.extent;
  const uint row = outer * push.extent * push.inner + inner;
  const uvec2 key = key_of(i);
  uint place = 0u;
  for (uint j = 0u; j < push.extent; ++j) {
    const uvec2 other = key_of(row + j * push.inner);
    if (less_unsigned64(other, key) || (other == key && j < own)) ++place;
  }
  if (place >= push.k) return;
  const uint to = (outer * push.k + place) * push.inner + inner;
  STORE_I64(indices, 2, to, uvec2(own, 0u));
  if (kType == kI64) {
    const uvec2 v = LOAD_I64(x, 0, i);
    STORE_I64(values, 1, to, v);
  } else {
    STORE_ELEMENT(values, 1, kType, to, uint(LOAD_INT(x, 0, kType, i)));
  }
}
