#version 450
// Images and volumes read at computed positions: an invocation makes four channels of a point. As sample_taps.h.
#include "linear.glsl"
#include "operands.glsl"
#include "math.glsl"

const uint kBilinear = 0u, kNearest = 1u, kBicubic = 2u;  // fb::SampleMode
const uint kZeros = 0u, kBorder = 1u, kReflection = 2u;   // fb::SamplePadding
layout(constant_id = 0) const uint kMode = kBilinear;
layout(constant_id = 1) const bool kVolume = false;

PUSH
  uint count;
  uint channels;
  uint points;     // of an image
  int extents[3];  // depth, height, width
  uint padding;
  uint align_corners;
PUSH_END

OPERAND(1, readonly, grid);
#define Y_BINDING 2
#include "kernels/common/channels.glsl"
#include "kernels/common/taps.glsl"

float pixel_of(float coordinate, int extent) {
  const float size = float(extent);
  precise float at;
  if (kVolume) {
    at = push.align_corners != 0u ? (coordinate + 1.0) * 0.5 * (size - 1.0) : ((coordinate + 1.0) * size - 1.0) * 0.5;
  } else {
    at = push.align_corners != 0u ? (coordinate + 1.0) * ((size - 1.0) * 0.5) : (coordinate + 1.0) * (size * 0.5) - 0.5;
  }
  return at;
}

/// Mirrored at the first and last pixel's centres (align_corners) or outer edges.
float reflected(float at, int extent) {
  const bool corners = push.align_corners != 0u;
  if (corners && extent == 1) return 0.0;
  const float low = corners ? 0.0 : -0.5;
  const float period = float(2 * (corners ? extent - 1 : extent));
  precise float from_low = magnitude(at - low);
  precise float result;
  if (kVolume) {
    const float span = period * 0.5;
    const float turns = floor(divide(from_low, span)), rest = fmod_of(from_low, span);
    result = (turns < 2147483648.0 && is_odd(turns) ? span - rest : rest) + low;
  } else {
    const float rest = from_low - trunc(divide(from_low, period)) * period;
    result = (rest > period - rest ? period - rest : rest) + low;
  }
  return result;
}

/// NaN goes to the first pixel, in volumes to the last.
float padded(float at, int extent) {
  if (push.padding == kZeros) return at;
  if (push.padding == kReflection) at = reflected(at, extent);
  const float last = float(extent - 1);
  if (is_nan(at)) return kVolume ? last : 0.0;
  return at < 0.0 ? 0.0 : at > last ? last : at;
}

/// -1: outside.
int inside(float at, int extent) {
  if (is_nan(at) || !(at >= 0.0 && at < float(extent))) return -1;
  const int index = int(at);
  return index < extent ? index : -1;
}

Taps taps_of(float coordinate, int extent) {
  Taps taps = one_tap();
  float at = pixel_of(coordinate, extent);
  if (kMode == kBicubic) {
    const float first = floor(at), fraction = at - first;
    taps.count = 4;
    for (int k = 0; k < 4; ++k) {
      taps.index[k] = inside(padded(first + float(k - 1), extent), extent);
      taps.weight[k] = cubic(magnitude(fraction - float(k - 1)));
    }
    return taps;
  }
  at = padded(at, extent);
  if (kVolume && magnitude_bits(at) >= 0x7f800000u) at = -100.0;
  if (kMode == kNearest) {
    taps.index[0] = inside(roundEven(at), extent);
    return taps;
  }
  const float first = floor(at);
  taps.count = 2;
  taps.index[0] = inside(first, extent);
  taps.index[1] = inside(first + 1.0, extent);
  taps.weight[1] = at - first;
  taps.weight[0] = 1.0 - taps.weight[1];
  return taps;
}

void main() {
  const uint i = invocation();
  if (i >= push.count) return;
  const uint channel = first_channel(i), point = i / quads_of_pixel();
  const uint dims = kVolume ? 3u : 2u;
  Taps depth = one_tap();
  if (kVolume) depth = taps_of(uintBitsToFloat(WORD(grid, 1, point * dims + 2u)), push.extents[0]);
  const Taps rows = taps_of(uintBitsToFloat(WORD(grid, 1, point * dims + 1u)), push.extents[1]);
  const Taps columns = taps_of(uintBitsToFloat(WORD(grid, 1, point * dims)), push.extents[2]);
  const uint image = point / push.points * uint(push.extents[0] * push.extents[1] * push.extents[2]);
  vec4 sum = vec4(0.0);
  for (int d = 0; d < depth.count; ++d) {
    for (int j = 0; j < rows.count; ++j) {
      for (int k = 0; k < columns.count; ++k) {
        const int at_d = depth.index[d], at_h = rows.index[j], at_w = columns.index[k];
        const bool outside = at_d < 0 || at_h < 0 || at_w < 0;
        const uint pixel = outside ? 0u : uint((at_d * push.extents[1] + at_h) * push.extents[2] + at_w);
        const float weight = depth.weight[d] * rows.weight[j] * columns.weight[k];
        vec4 v = vec4(0.0);
        if (!outside) v = load_channels(image + pixel, channel);
        sum += weight * v;
      }
    }
  }
  store_channels(point, channel, sum);
}
