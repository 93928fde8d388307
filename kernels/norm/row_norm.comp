#version 450
// layer_norm, rms_norm and group_norm: y = (x - mean) * scale * weight + bias of rows, or x * scale * weight. Rows of at
// most kKept elements for each lane are read once.
#include "operands.glsl"
#include "elements.glsl"
#include "math.glsl"

layout(constant_id = 0) const bool kCenters = true;  ///< rms_norm does not
layout(constant_id = 1) const bool kHasWeight = false;
layout(constant_id = 2) const bool kHasBias = false;
layout(constant_id = 3) const bool kGroups = false;  ///< group_norm, where a row lies in pieces

PUSH
  uint rows, lanes_log2, columns;
  uint extent;
  float epsilon;
  // Of groups: each is `extent / piece` runs of `piece` elements, with `inner` elements for a channel.
  uint groups, piece, inner;
PUSH_END

#include "row.glsl"

OPERAND(0, , x);
OPERAND(1, , weight);
OPERAND(2, , bias);
OPERAND(3, , y);

const uint kKept = 16u;
shared float kept[kKept * 128u];

FOLD(vec2, fold_sums, (a + b))

uint offset(uint row, uint e) {
  if (!kGroups) return row * push.extent + e;
  const uint image = row / push.groups, group = row % push.groups;
  return image * push.extent * push.groups + (e / push.piece * push.groups + group) * push.piece + e % push.piece;
}
/// Returns the place of the element's weight and bias.
uint parameter(uint row, uint e) {
  return kGroups ? (row % push.groups * push.piece + e % push.piece) / push.inner : e;
}

void main() {
  const uint row = row_index(), t = gl_LocalInvocationIndex;
  const uint count = row < push.rows ? push.extent : 0u;
  const bool keeps = push.extent <= kKept << push.lanes_log2;
  vec2 sums = vec2(0.0);
  for (uint e = lane(); e < count; e += lanes()) {
    const float v = LOAD_FLOAT(x, 0, offset(row, e));
    if (keeps) kept[(e >> push.lanes_log2) * 128u + t] = v;
    sums += vec2(v, v * v);
  }
  sums = fold_sums(sums);
  const float n = float(push.extent);
  float mean = 0.0, variance = sums.y / n;
  if (kCenters) {
    // Deviations from the mean; their sum shows the error of the mean itself.
    mean = sums.x / n;
    sums = vec2(0.0);
    for (uint e = lane(); e < count; e += lanes()) {
      const float v = keeps ? kept[(e >> push.lanes_log2) * 128u + t] : LOAD_FLOAT(x, 0, offset(row, e));
      const float d = v - mean;
      sums += vec2(d, d * d);
    }
    sums = fold_sums(sums);
    const float error = sums.x / n;
    variance = max(sums.y / n - error * error, 0.0);
    mean += error;
  }
  const float scale = 1.0 / sqrt(variance + push.epsilon);
  for (uint e = lane(); e < count; e += lanes()) {
    const uint at = offset(row, e), p = parameter(row, e);
    const float v = keeps ? kept[(e >> push.lanes_log2) * 128u + t] : LOAD_FLOAT(x, 0, at);
    float r = (v - mean) * scale;
    if (kHasWeight) r *= LOAD_FLOAT(weight, 1, p);
    if (kHasBias) r += LOAD_FLOAT(bias, 2, p);
    WORD(y, 3, at) = floatBitsToUint(r);
  }
}
