#version 450
// Batches of products of matrices, a tile in a workgroup.
#include "gemm_batch.glsl"

void begin_row(uint slot, uint row) {}
void begin_step(uint k) {}
vec4 load_a(uint slot, uint row, uint k) { return a_quad(row, k); }
vec4 load_b(uint k, uint column) { return b_quad(k, column); }

#include "gemm.glsl"

void main() {
  const uvec3 tile = own_tile();
  const uint product = tile.x;
  if (product >= push.batches * push.splits) return;
  const uint split = product % push.splits;
  begin_batch(product / push.splits, split);
  multiply_tile(tile.y, tile.z, part_of_depth(split), has(kByDepth));
}
