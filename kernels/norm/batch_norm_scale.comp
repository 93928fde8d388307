#version 450
// scale = weight / sqrt(variance + epsilon) of each channel.
#include "linear.glsl"
#include "operands.glsl"
#include "math.glsl"

PUSH
  uint channels;
  float epsilon;
  uint has_weight;
PUSH_END

OPERAND(0, , variance);
OPERAND(1, , weight);
OPERAND(2, , scale);

void main() {
  const uint first = 4u * invocation();
  for (uint i = first; i < first + 4u && i < push.channels; ++i) {
    const float w = push.has_weight != 0u ? uintBitsToFloat(WORD(weight, 1, i)) : 1.0;
    const float v = uintBitsToFloat(WORD(variance, 0, i)) + push.epsilon;
    WORD(scale, 2, i) = floatBitsToUint(is_nan(v) || v < 0.0 ? kNan : w / sqrt(v));
  }
}
