#version 450
// Convolution with few channels in a group, depthwise above all: an invocation makes four neighbouring pixels of four
// channels. b is [depth, all columns], or by depth. Depthwise, 4 operations for each value that is read; neighbours share
// most of them in the cache.
#include "linear.glsl"
#include "kernels/conv/conv_operands.glsl"

layout(constant_id = 0) const bool kDepthwise = false;  ///< one channel in and out of a group

void main() {
  const uint quads = (push.columns + 3u) / 4u, blocks = (push.out_width + 3u) / 4u;
  const uint i = invocation();
  const uint block = i / quads;
  const uint column = 4u * (i % quads), left = 4u * (block % blocks);
  const uint out_row = block / blocks;  // of all images
  if (out_row >= push.rows / push.out_width) return;
  begin_matrices(0u, 0u, 0u, 0u);
  const uint image = out_row / push.out_height;
  const int top = int(out_row % push.out_height * push.stride_h) - push.pad_top;
  const uint filters = push.columns / push.groups;  // of a group
  uvec4 first = uvec4(column, column + 1u, column + 2u, column + 3u);
  if (!kDepthwise) first = min(first, uvec4(push.columns - 1u)) / filters * push.group_channels;
  vec4 sums[4];
  for (uint p = 0u; p < 4u; ++p) sums[p] = vec4(0.0);
  int h = top, tap_w = 0;
  for (uint k = 0u; k < push.depth; ++h, tap_w = 0) {
    h += k == 0u ? 0 : int(push.dilation_h) - 1;
    for (uint tap = 0u; tap < push.kernel_width; ++tap, tap_w += int(push.dilation_w)) {
      for (uint c = 0u; c < push.group_channels; ++c, ++k) {
        const vec4 weights = b_quad(k, column);
        for (uint p = 0u; p < 4u; ++p) {
          const int w = int((left + p) * push.stride_w) - push.pad_left + tap_w;
          if (!is_inside(h, w)) continue;
          vec4 x;
          if (kDepthwise && has(kQuadsA)) {
            x = a4[pixel_at(image, h, w, column) / 4u];
          } else {
            for (uint j = 0u; j < 4u; ++j)
              x[j] = column + j < push.columns ? a1[pixel_at(image, h, w, first[j] + c)] : 0.0;
          }
          sums[p] += x * weights;
        }
      }
    }
  }
  const uint first_row = out_row * push.out_width + left;
  for (uint p = 0u; p < 4u && left + p < push.out_width; ++p)
    store_at(first_row + p, first_row + p, column, sums[p]);
}
