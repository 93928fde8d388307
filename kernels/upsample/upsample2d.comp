#version 450
// Resizing of images, NHWC: an invocation makes four channels of a pixel. As upsample_taps.h.
#include "linear.glsl"
#include "operands.glsl"

const uint kNearest = 0u, kBilinear = 1u, kBicubic = 2u, kNearestExact = 3u;  // fb::UpsampleMode
layout(constant_id = 0) const uint kMode = kNearest;

PUSH
  uint count;
  uint channels;
  int height;
  int width;
  uint out_height;
  uint out_width;
  float step[2];
  uint keeps[2];
  uint align_corners;
PUSH_END

#define Y_BINDING 1
#include "kernels/common/channels.glsl"
#include "kernels/common/taps.glsl"

int clamped_index(float at, int extent) {
  return !(at > 0.0) ? 0 : at >= float(extent - 1) ? extent - 1 : int(at);
}

Taps taps_of(uint d, uint o, int extent) {
  Taps taps = one_tap();
  if (push.keeps[d] != 0u && kMode != kBicubic) {
    taps.count = kMode == kBilinear ? 2 : 1;
    taps.index[0] = taps.index[1] = int(o);
    return taps;
  }
  precise float at = float(o);
  const float step = push.step[d];
  if (kMode == kNearest || kMode == kNearestExact) {
    at = (kMode == kNearest ? at : at + 0.5) * step;
    taps.index[0] = clamped_index(floor(at), extent);
    return taps;
  }
  precise float from = push.align_corners != 0u ? at * step : (at + 0.5) * step - 0.5;
  if (kMode == kBilinear) {
    from = max(from, 0.0);
    const int first = clamped_index(from, extent);
    const float fraction = min(max(from - float(first), 0.0), 1.0);
    taps.count = 2;
    taps.index[0] = first;
    taps.index[1] = min(first + 1, extent - 1);
    taps.weight[0] = 1.0 - fraction;
    taps.weight[1] = fraction;
    return taps;
  }
  const float first = floor(from);
  const float fraction = from - first;
  taps.count = 4;
  for (int k = 0; k < 4; ++k) {
    taps.index[k] = clamped_index(first + float(k - 1), extent);
    taps.weight[k] = cubic(abs(fraction - float(k - 1)));
  }
  return taps;
}

void main() {
  const uint i = invocation();
  if (i >= push.count) return;
  const uint channel = first_channel(i), pixel = i / quads_of_pixel();
  const uint image = pixel / push.out_width / push.out_height * uint(push.height);
  const Taps rows = taps_of(0u, pixel / push.out_width % push.out_height, push.height);
  const Taps columns = taps_of(1u, pixel % push.out_width, push.width);
  vec4 sum = vec4(0.0);
  for (int j = 0; j < rows.count; ++j) {
    vec4 row = vec4(0.0);
    for (int k = 0; k < columns.count; ++k) {
      const uint from = (image + uint(rows.index[j])) * uint(push.width) + uint(columns.index[k]);
      row += columns.weight[k] * load_channels(from, channel);
    }
    sum += rows.weight[j] * row;
  }
  store_channels(pixel, channel, sum);
}
