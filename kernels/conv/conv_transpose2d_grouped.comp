#version 450
// Transposed convolution with few channels in a group: an invocation makes four channels of a pixel from all taps that
// meet x there, about one in stride_h * stride_w. A depthwise one does one multiply-add for each value that it reads.
#include "linear.glsl"
#include "kernels/conv/conv_operands.glsl"
#include "kernels/conv/conv_grouped.glsl"

/// Finds the position in x that tap k sends to `at`; returns whether there is one.
bool find_source(uint at, int pad, uint k, uint dilation, uint stride, uint extent, out int source) {
  const int scaled = int(at) + pad - int(k * dilation);
  source = scaled / int(stride);
  return scaled >= 0 && source * int(stride) == scaled && source < int(extent);
}

void main() {
  const uint quads = (push.columns + 3u) / 4u, i = invocation();
  const uint column = 4u * (i % quads), row = i / quads;
  if (row >= push.rows) return;
  begin_matrices(0u, 0u, 0u, 0u);
  const uint out_w = row % push.out_width, out_h = row / push.out_width % push.out_height;
  const uint image = row / push.out_width / push.out_height;
  const uvec4 first = first_channels(column);
  vec4 sum = vec4(0.0);
  int h, w;
  for (uint tap_h = 0u; tap_h < push.kernel_height; ++tap_h) {
    if (!find_source(out_h, push.pad_top, tap_h, push.dilation_h, push.stride_h, push.height, h)) continue;
    for (uint tap_w = 0u; tap_w < push.kernel_width; ++tap_w) {
      if (!find_source(out_w, push.pad_left, tap_w, push.dilation_w, push.stride_w, push.width, w)) continue;
      const uint k = (tap_h * push.kernel_width + tap_w) * push.group_channels;
      for (uint c = 0u; c < push.group_channels; ++c)
        sum += load_quad(image, h, w, column, first, c) * b_quad(k + c, column);
    }
  }
  store_at(row, row, column, sum);
}
