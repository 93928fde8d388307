#version 450
#include "linear.glsl"
#include "operands.glsl"

PUSH
  uint count;
  uint ids;
  uint inner;
  int low;
  int extent;
  uint error;
PUSH_END
#include "kernels/gather/picked.glsl"

uint source(uint i) {
  const uint row = i / push.inner;
  const uint at = position(row % push.ids, push.low);
  if (at == kNowhere) return at;
  return (row / push.ids * uint(push.extent) + at) * push.inner + i % push.inner;
}
bool picks_fours() { return (push.inner & 3u) == 0u; }
