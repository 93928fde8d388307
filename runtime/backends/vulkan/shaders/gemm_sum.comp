#version 450
// Adds the parts of products whose depth was split, with the bias of each column and a clamp.
#include "linear.glsl"
#include "operands.glsl"
#include "math.glsl"

PUSH
  uint count, columns;
  uint splits;
  uint has_bias;
  float low, high;
PUSH_END

layout(binding = 0, std430) readonly buffer Parts { float parts[]; };
layout(binding = 1, std430) readonly buffer Bias { float bias[]; };
layout(binding = 2, std430) writeonly buffer Y { float y[]; };

void main() {
  const uint i = invocation();
  if (i >= push.count) return;
  float sum = 0.0;
  for (uint s = 0u; s < push.splits; ++s) sum += parts[push.begin[0] + s * push.count + i];
  if (push.has_bias != 0u) sum += bias[push.begin[1] + i % push.columns];
  y[push.begin[2] + i] = clamp_to(sum, push.low, push.high);
}
