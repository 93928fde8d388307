#version 450
// y = (x - mean) * scale + shift of each channel.
#include "linear.glsl"
#include "operands.glsl"

PUSH
  uint count;
  uint channels;
  uint inner;  ///< elements behind each channel's index
PUSH_END

OPERAND(0, , x);
OPERAND(1, , parameters);  ///< of all channels the means, then the shifts, then the scales
OPERAND(2, , y);

void main() {
  const uint first = 4u * invocation();
  for (uint i = first; i < first + 4u && i < push.count; ++i) {
    const uint c = i / push.inner % push.channels;
    const float mean = uintBitsToFloat(WORD(parameters, 1, c));
    const float shift = uintBitsToFloat(WORD(parameters, 1, push.channels + c));
    const float scale = uintBitsToFloat(WORD(parameters, 1, 2u * push.channels + c));
    WORD(y, 2, i) = floatBitsToUint((uintBitsToFloat(WORD(x, 0, i)) - mean) * scale + shift);
  }
}
