#version 450
#include "linear.glsl"
#include "operands.glsl"

layout(constant_id = 1) const uint kSize = 2;

PUSH
  uint words;
  uint count;
  uint axis_step;
  uint rank;
  uint extents[8];  // of the indices, with the steps in x; 0 along the axis
  uint steps[8];
  int extent;
  uint error;
PUSH_END

OPERAND(0, readonly, x);
OPERAND(2, writeonly, y);
#include "kernels/common/moved.glsl"
#include "kernels/gather/index.glsl"

uint source(uint i) {
  const uint at = position(i, 0);
  if (at == kNowhere) return at;
  uint from = at * push.axis_step;
  uint rest = i;
  for (int d = int(push.rank) - 1; d >= 0; --d) {
    from += rest % push.extents[d] * push.steps[d];
    rest /= push.extents[d];
  }
  return from;
}

void main() {
  const uint w = invocation();
  if (w >= push.words) return;
  MOVE_WORD(y, 2, x, 0, w, push.count)
}
