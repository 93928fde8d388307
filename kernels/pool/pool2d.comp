#version 450
// The 2-d pools, NHWC: an invocation makes four channels of a pixel.
#include "linear.glsl"
#include "operands.glsl"
#include "math.glsl"

const uint kMax = 0, kAverage = 1, kAdaptive = 2;
layout(constant_id = 0) const uint kKind = kMax;

PUSH
  uint count;
  int height;
  int width;
  uint channels;
  int out_height;
  int out_width;
  int kernel[2];
  int stride[2];
  int before[2];
  int after[2];
  int dilation[2];
  uint counts_padding;
  int divisor;  // 0: the elements of the window
PUSH_END

#define Y_BINDING 1
#include "kernels/common/channels.glsl"

struct Range {
  int first, last, step;
  int count;  // positions that a mean counts
};

/// As pool_range of pool_window.h.
Range window(int d, int o, int extent) {
  const int start = o * push.stride[d] - push.before[d];
  const int step = push.dilation[d];
  const int first = start < 0 ? start + (-start + step - 1) / step * step : start;
  const int last = min(start + (push.kernel[d] - 1) * step + 1, extent);
  const int all = min(start + push.kernel[d], extent + push.after[d]) - start;
  return Range(first, last, step, push.counts_padding != 0u ? all : last - first);
}
Range adaptive_window(int o, int extent, int outputs) {
  const int first = o * extent / outputs, last = ((o + 1) * extent + outputs - 1) / outputs;
  return Range(first, last, 1, last - first);
}

float larger(float a, float b) { return is_nan(a) || a > b ? a : b; }
vec4 combined(vec4 a, vec4 b) {
  if (kKind != kMax) return a + b;
  return vec4(larger(a.x, b.x), larger(a.y, b.y), larger(a.z, b.z), larger(a.w, b.w));
}

void main() {
  const uint i = invocation();
  if (i >= push.count) return;
  const uint channel = first_channel(i), pixel = i / quads_of_pixel();
  const int ow = int(pixel % uint(push.out_width)), oh = int(pixel / uint(push.out_width) % uint(push.out_height));
  const uint image = pixel / uint(push.out_width) / uint(push.out_height) * uint(push.height);
  Range rows, columns;
  if (kKind == kAdaptive) {
    rows = adaptive_window(oh, push.height, push.out_height);
    columns = adaptive_window(ow, push.width, push.out_width);
  } else {
    rows = window(0, oh, push.height);
    columns = window(1, ow, push.width);
  }
  vec4 sum = vec4(kKind == kMax ? -kInfinity : 0.0);
  for (int h = rows.first; h < rows.last; h += rows.step) {
    for (int w = columns.first; w < columns.last; w += columns.step) {
      sum = combined(sum, load_channels((image + uint(h)) * uint(push.width) + uint(w), channel));
    }
  }
  if (kKind != kMax && rows.first < rows.last && columns.first < columns.last)
    sum /= push.divisor != 0 ? float(push.divisor) : float(rows.count) * float(columns.count);
  store_channels(pixel, channel, sum);
}
