#version 450
// Convolution as a product of matrices: a row of a is the window of a pixel, and is never stored.
#include "kernels/conv/conv_operands.glsl"

uint first_channel;
// Of the rows of this invocation's slots: their images (or none) and where their windows begin.
const uint kNone = 0xffffffffu;
uint images[4];
int tops[4], lefts[4];
// Of this invocation's place in the depth.
uint channel;
int tap_h, tap_w;

void begin_row(uint slot, uint row) {
  const uint pixel = row % (push.out_height * push.out_width);
  images[slot] = row < push.rows ? row / (push.out_height * push.out_width) : kNone;
  tops[slot] = int(pixel / push.out_width * push.stride_h) - push.pad_top;
  lefts[slot] = int(pixel % push.out_width * push.stride_w) - push.pad_left;
}

void begin_step(uint k) {
  const uint tap = k / push.group_channels;
  channel = k % push.group_channels;
  tap_h = int(tap / push.kernel_width * push.dilation_h);
  tap_w = int(tap % push.kernel_width * push.dilation_w);
}

vec4 load_a(uint slot, uint row, uint k) {
  if (images[slot] == kNone || k >= push.depth) return vec4(0.0);
  int h = tops[slot] + tap_h, w = lefts[slot] + tap_w;
  if (has(kQuadsA)) {  // four channels of one tap
    if (!is_inside(h, w)) return vec4(0.0);
    return a4[pixel_at(images[slot], h, w, first_channel + channel) / 4u];
  }
  vec4 v = vec4(0.0);
  uint c = channel;
  for (uint i = 0u; i < 4u && k + i < push.depth; ++i) {
    if (is_inside(h, w)) v[i] = a1[pixel_at(images[slot], h, w, first_channel + c)];
    if (++c < push.group_channels) continue;
    c = 0u;
    w += int(push.dilation_w);
    if (w - lefts[slot] < int(push.kernel_width * push.dilation_w)) continue;
    w = lefts[slot];
    h += int(push.dilation_h);
  }
  return v;
}

vec4 load_b(uint k, uint column) { return b_quad(k, column); }

#include "gemm.glsl"

void main() {
  const uint across = (push.columns + kTileColumns - 1u) / kTileColumns;
  const uint down = (push.rows + kTileRows - 1u) / kTileRows;
  const uint group = workgroup() / (across * down), tile = workgroup() % (across * down);
  if (group >= push.groups) return;
  first_channel = group * push.group_channels;
  const uint b_size = has(kByDepth) ? push.columns * push.depth : push.depth * push.b_pitch;
  begin_matrices(0u, group * b_size, group * push.columns, group * push.columns);
  multiply_tile(tile / across * kTileRows, tile % across * kTileColumns, push.depth, has(kByDepth));
}
