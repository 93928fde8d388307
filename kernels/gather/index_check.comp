#version 450
// Checks the indices of a node whose result has no elements.
#include "linear.glsl"
#include "operands.glsl"

PUSH
  uint count;
  int low;
  int extent;
  uint error;
PUSH_END
#include "kernels/gather/index.glsl"

void main() {
  const uint i = invocation();
  if (i < push.count) position(i, push.low);
}
