#version 450
// Words of a pattern of two.
#include "linear.glsl"
#include "operands.glsl"

PUSH
  uint words;
  uint even, odd;
PUSH_END

OPERAND(0, , y);

void main() {
  const uint first = 4u * invocation();
  for (uint i = first; i < first + 4u && i < push.words; ++i)
    WORD(y, 0, i) = (i & 1u) == 0u ? push.even : push.odd;
}
