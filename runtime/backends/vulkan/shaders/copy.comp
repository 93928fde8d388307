#version 450
// y[place(i)] = x[x_first + steps(i)] over the positions of a shape: permute, expand, slice, flip, and parts of concat.
#include "linear.glsl"
#include "operands.glsl"
#include "elements.glsl"

layout(constant_id = 0) const uint kType = 1;        ///< any of the elements' size
layout(constant_id = 1) const bool kPlaces = false;  ///< y has a first place and steps; else it is written in order

PUSH
  uint count;
  uint x_first;
  uint y_first;
  uint rank;
  uint extents[8];
  uint x_strides[8];
  uint y_strides[8];
PUSH_END

OPERAND(0, , x);
OPERAND(1, , y);
OPERAND_4(0, , x4);
OPERAND_4(1, , y4);

uvec2 places_of(uint i) {
  uint from = push.x_first, to = push.y_first;
  for (uint d = push.rank - 1u; d > 0u; --d) {
    const uint outer = i / push.extents[d];
    const uint index = i - outer * push.extents[d];
    from += index * push.x_strides[d];
    to += index * push.y_strides[d];
    i = outer;
  }
  return uvec2(from + i * push.x_strides[0], to + i * push.y_strides[0]);
}

void main() {
  const uint first = 4u * invocation();
  if (first >= push.count) return;
  const uint inner = push.rank - 1u;
  if (packing(kType) == 0u && kType != kI64 && (push.extents[inner] & 3u) == 0u && push.x_strides[inner] == 1u &&
      (!kPlaces || push.y_strides[inner] == 1u) && VECTORS_OF(0) && VECTORS_OF(1)) {
    const uvec2 at = places_of(first);
    const uint to = kPlaces ? at.y : first;
    if (((at.x | to) & 3u) == 0u) {
      VECTOR(y4, 1, to) = VECTOR(x4, 0, at.x);
      return;
    }
  }
  uvec4 results = uvec4(0u);
  for (uint k = 0u; k < 4u && first + k < push.count; ++k) {
    const uvec2 at = places_of(first + k);
    const uint to = kPlaces ? at.y : first + k;
    if (kType == kI64) {
      const uvec2 v = LOAD_I64(x, 0, at.x);
      STORE_I64(y, 1, to, v);
    } else {
      results[k] = uint(LOAD_INT(x, 0, kType, at.x));
      if (kPlaces) STORE_ELEMENT(y, 1, kType, to, results[k]);
    }
  }
  if (kType != kI64 && !kPlaces) STORE_4(y, 1, kType, first, push.count, results);
}
