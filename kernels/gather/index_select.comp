#version 450
#include "linear.glsl"
#include "operands.glsl"

layout(constant_id = 1) const uint kSize = 2;

PUSH
  uint words;
  uint count;
  uint ids;
  uint inner;
  int low;
  int extent;
  uint error;
PUSH_END

OPERAND(0, readonly, x);
OPERAND(2, writeonly, y);
#include "kernels/common/moved.glsl"
#include "kernels/gather/index.glsl"

uint source(uint i) {
  const uint row = i / push.inner;
  const uint at = position(row % push.ids, push.low);
  if (at == kNowhere) return at;
  return (row / push.ids * uint(push.extent) + at) * push.inner + i % push.inner;
}

void main() {
  const uint w = invocation();
  if (w >= push.words) return;
  MOVE_WORD(y, 2, x, 0, w, push.count)
}
