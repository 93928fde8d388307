// Loads and stores up to four channels of a pixel, NHWC. Define Y_BINDING and include it behind a push block that has
// `channels`; x is operand 0.
OPERAND(0, readonly, x);
OPERAND_4(0, readonly, x4);
OPERAND(Y_BINDING, writeonly, y);
OPERAND_4(Y_BINDING, writeonly, y4);

/// The number of invocations for a pixel, and the first channel of invocation i.
uint quads_of_pixel() { return (push.channels + 3u) / 4u; }
uint first_channel(uint i) { return i % quads_of_pixel() * 4u; }
bool in_vectors() { return (push.channels & 3u) == 0u && VECTORS_OF(0) && VECTORS_OF(Y_BINDING); }

vec4 load_channels(uint pixel, uint first) {
  const uint at = pixel * push.channels + first;
  if (in_vectors()) return uintBitsToFloat(VECTOR(x4, 0, at));
  vec4 v = vec4(0.0);
  for (uint c = 0u; c < 4u && first + c < push.channels; ++c) v[c] = uintBitsToFloat(WORD(x, 0, at + c));
  return v;
}
void store_channels(uint pixel, uint first, vec4 v) {
  const uint at = pixel * push.channels + first;
  if (in_vectors()) {
    VECTOR(y4, Y_BINDING, at) = floatBitsToUint(v);
    return;
  }
  for (uint c = 0u; c < 4u && first + c < push.channels; ++c) WORD(y, Y_BINDING, at + c) = floatBitsToUint(v[c]);
}
