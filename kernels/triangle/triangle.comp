#version 450
// Elements outside the triangle become 0.
#include "linear.glsl"
#include "operands.glsl"
#include "elements.glsl"

layout(constant_id = 0) const uint kType = 1;

PUSH
  uint count;
  uint rows, columns;
  int diagonal;
  uint upper;
PUSH_END

OPERAND(0, , x);
OPERAND(1, , y);

void main() {
  const uint first = 4u * invocation();
  if (first >= push.count) return;
  uvec4 results = uvec4(0u);
  for (uint k = 0u; k < 4u && first + k < push.count; ++k) {
    const uint i = first + k;
    const int column = int(i % push.columns);
    const int row = int(i / push.columns % push.rows);
    const bool keeps =
        push.upper != 0u ? column - row >= push.diagonal : column - row <= push.diagonal;
    if (kType == kI64) {
      const uvec2 v = keeps ? LOAD_I64(x, 0, i) : uvec2(0u);
      STORE_I64(y, 1, i, v);
    } else {
      results[k] = keeps ? uint(LOAD_INT(x, 0, kType, i)) : 0u;
    }
  }
  if (kType != kI64) STORE_4(y, 1, kType, first, push.count, results);
}
