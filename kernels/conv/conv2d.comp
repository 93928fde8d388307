#version 450
// Convolution as a product of matrices.
#include "kernels/conv/conv_operands.glsl"
#include "kernels/conv/conv_gather.glsl"

void begin_row(uint slot, uint row) {
  const uint pixel = row % (push.out_height * push.out_width);
  images[slot] = row < push.rows ? row / (push.out_height * push.out_width) : kNone;
  firsts[slot] = ivec2(int(pixel / push.out_width * push.stride_h) - push.pad_top,
                       int(pixel % push.out_width * push.stride_w) - push.pad_left);
}
vec4 load_b(uint k, uint column) { return b_quad(k, column); }
void store_quad(uint row, uint column, vec4 v) { store_at(row, row, column, v); }

#include "gemm.glsl"

void main() {
  const uvec3 tile = own_tile();
  const uint product = tile.x;
  if (product >= push.groups * push.splits) return;
  const uint split = product % push.splits;
  begin_group(product / push.splits, split);
  taps_across = push.kernel_width;
  tap_step = ivec2(push.dilation_h, push.dilation_w);
  own_depth = push.depth;
  multiply_tile(tile.y, tile.z, part_of_depth(split), has(kByDepth));
}
