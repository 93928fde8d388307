#version 450
#include "linear.glsl"
#include "operands.glsl"

PUSH
  uint count;
  uint axis_step;
  uint rank;
  uint extents[8];  // of the indices, with the steps in x; 0 along the axis
  uint steps[8];
  int extent;
  uint error;
PUSH_END
#include "kernels/gather/picked.glsl"

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
bool picks_fours() { return false; }
