#version 450
#extension GL_EXT_control_flow_attributes : enable
// Convolution with few channels in a group, depthwise above all: an invocation makes four neighbouring pixels of four
// channels. b is [depth, all columns], or by depth. A depthwise one of 3 x 3 reads 27 vectors of four for 36 multiply-adds
// of such vectors.
#include "linear.glsl"
#include "kernels/conv/conv_operands.glsl"
#include "kernels/conv/conv_grouped.glsl"

void main() {
  const uint quads = (push.columns + 3u) / 4u, blocks = (push.out_width + 3u) / 4u;
  const uint i = invocation();
  const uint block = i / quads;
  const uint column = 4u * (i % quads), left = 4u * (block % blocks);
  const uint out_row = block / blocks;  // of all images
  if (out_row >= push.rows / push.out_width) return;
  begin_matrices(0u, 0u, 0u, 0u);
  const uint image = out_row / push.out_height;
  const uvec4 first = first_channels(column);
  // Then a tap reads what the tap before it read for the next pixel: of four values, one is new.
  const bool slides = kDepthwise && push.stride_w == 1u && push.dilation_w == 1u;
  vec4 sums[4], x[4];
  [[unroll]] for (uint p = 0u; p < 4u; ++p) sums[p] = vec4(0.0);
  int h = int(out_row % push.out_height * push.stride_h) - push.pad_top;
  for (uint k = 0u; k < push.depth; h += int(push.dilation_h)) {
    int w = int(left * push.stride_w) - push.pad_left;
    for (uint tap = 0u; tap < push.kernel_width; ++tap, w += int(push.dilation_w)) {
      for (uint c = 0u; c < push.group_channels; ++c, ++k) {
        const vec4 weights = b_quad(k, column);
        if (slides && tap != 0u) {
          [[unroll]] for (uint p = 0u; p < 3u; ++p) x[p] = x[p + 1u];
          x[3] = load_quad(image, h, w + 3, column, first, c);
        } else {
          [[unroll]] for (uint p = 0u; p < 4u; ++p) x[p] = load_quad(image, h, w + int(p * push.stride_w), column, first, c);
        }
        [[unroll]] for (uint p = 0u; p < 4u; ++p) sums[p] += x[p] * weights;
      }
    }
  }
  const uint first_row = out_row * push.out_width + left;
  [[unroll]] for (uint p = 0u; p < 4u; ++p) {
    if (left + p < push.out_width) store_at(first_row + p, first_row + p, column, sums[p]);
  }
}
