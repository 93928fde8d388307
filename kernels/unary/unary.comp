#version 450
#include "linear.glsl"
#include "operands.glsl"

layout(constant_id = 0) const uint kFunction = 0;

PUSH
  uint count;
PUSH_END

OPERAND(0, readonly, x);
OPERAND(1, writeonly, y);

void main() {
  const uint i = invocation();
  if (i >= push.count) return;
  const float v = uintBitsToFloat(WORD(x, 0, i));
  WORD(y, 1, i) = floatBitsToUint(v < 0.0 ? 0.0 : v);
}
