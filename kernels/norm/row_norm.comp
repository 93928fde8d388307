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
  // Of groups: each consists of runs of `channels` channels, with `inner` elements for a channel.
  uint groups, channels, inner;
PUSH_END

#include "row.glsl"

OPERAND(0, , x);
OPERAND(1, , weight);
OPERAND(2, , bias);
OPERAND(3, , y);

const uint kKept = 16u;
shared float kept[kKept * 128u];

FOLD(vec2, fold_sums, (a + b))

/// An element of a row: its number, and of groups the run, the channel in it and the element in the channel.
struct Place {
  uint e, run, channel, inner;
};
Place place_of(uint e) {
  if (!kGroups) return Place(e, 0u, 0u, 0u);
  const uint channel = e / push.inner;
  return Place(e, channel / push.channels, channel % push.channels, e % push.inner);
}
/// Moves p by `step` elements. Adds with carry, since a division costs more than the arithmetic of the norm.
void move(inout Place p, Place step) {
  p.e += step.e;
  if (!kGroups) return;
  p.inner += step.inner;
  const uint carries = uint(p.inner >= push.inner);
  p.inner -= carries * push.inner;
  p.channel += step.channel + carries;
  const uint overflows = uint(p.channel >= push.channels);
  p.channel -= overflows * push.channels;
  p.run += step.run + overflows;
}

/// Where the element is kept.
uint kept_at(Place p) { return (p.e >> push.lanes_log2) * 128u + gl_LocalInvocationIndex; }

uint row_begin, group;
uint offset(Place p) {
  if (!kGroups) return row_begin + p.e;
  return row_begin + ((p.run * push.groups + group) * push.channels + p.channel) * push.inner + p.inner;
}
/// Returns the place of the element's weight and bias.
uint parameter(Place p) { return kGroups ? group * push.channels + p.channel : p.e; }

void main() {
  const uint row = row_index();
  const uint count = row < push.rows ? push.extent : 0u;
  const Place begin = place_of(lane()), step = place_of(lanes());
  group = kGroups ? row % push.groups : 0u;
  row_begin = (row - group) * push.extent;
  const bool keeps = push.extent <= kKept << push.lanes_log2;
  vec2 sums = vec2(0.0);
  for (Place p = begin; p.e < count; move(p, step)) {
    const float v = LOAD_FLOAT(x, 0, offset(p));
    if (keeps) kept[kept_at(p)] = v;
    sums += vec2(v, v * v);
  }
  sums = fold_sums(sums);
  const float n = float(push.extent);
  float mean = 0.0, variance = sums.y / n;
  if (kCenters) {
    // Deviations from the mean; their sum shows the error of the mean itself.
    mean = sums.x / n;
    sums = vec2(0.0);
    for (Place p = begin; p.e < count; move(p, step)) {
      const float v = keeps ? kept[kept_at(p)] : LOAD_FLOAT(x, 0, offset(p));
      const float d = v - mean;
      sums += vec2(d, d * d);
    }
    sums = fold_sums(sums);
    const float error = sums.x / n;
    variance = max(sums.y / n - error * error, 0.0);
    mean += error;
  }
  const float scale = 1.0 / sqrt(variance + push.epsilon);
  for (Place p = begin; p.e < count; move(p, step)) {
    const uint at = offset(p), channel = parameter(p);
    const float v = keeps ? kept[kept_at(p)] : LOAD_FLOAT(x, 0, at);
    float r = (v - mean) * scale;
    if (kHasWeight) r *= LOAD_FLOAT(weight, 1, channel);
    if (kHasBias) r += LOAD_FLOAT(bias, 2, channel);
    WORD(y, 3, at) = floatBitsToUint(r);
  }
}
