#version 450
// Batches of products of matrices, a tile in a workgroup.
#include "gemm_batch.glsl"

void begin_row(uint slot, uint row) {}
void begin_step(uint k) {}
vec4 load_a(uint slot, uint row, uint k) { return a_quad(row, k); }
vec4 load_b(uint k, uint column) { return b_quad(k, column); }

#include "gemm.glsl"

void main() {
  const uint across = (push.columns + kTileColumns - 1u) / kTileColumns;
  const uint down = (push.rows + kTileRows - 1u) / kTileRows;
  const uint batch = workgroup() / (across * down), tile = workgroup() % (across * down);
  if (batch >= push.batches) return;
  begin_batch(batch);
  multiply_tile(tile / across * kTileRows, tile % across * kTileColumns, push.depth, has(kByDepth));
}
