#version 450
// The last two of three dims exchanged: y[b, j, i] = x[b_step * b + x_step * i + j], in elements of 4 bytes. Tiles in shared
// memory, so that both are walked along their rows.
#include "operands.glsl"

const uint kTile = 16u;
layout(local_size_x = 16, local_size_y = 8) in;

PUSH
  uint rows;     ///< of i, which is y's last dim
  uint columns;  ///< of j, which is x's last dim
  uint batches;
  uint x_step;
  uint b_step;
  uint row_tiles;
PUSH_END

OPERAND(0, readonly, x);
OPERAND(1, writeonly, y);

shared uint tile[16][17];

void main() {
  const uint i0 = gl_WorkGroupID.x % push.row_tiles * kTile;
  const uint j0 = gl_WorkGroupID.x / push.row_tiles * kTile;
  const uint lane = gl_LocalInvocationID.x;
  for (uint b = gl_WorkGroupID.y; b < push.batches; b += gl_NumWorkGroups.y) {
    for (uint k = gl_LocalInvocationID.y; k < kTile; k += 8u) {
      const uint i = i0 + k, j = j0 + lane;
      if (i < push.rows && j < push.columns)
        tile[k][lane] = WORD(x, 0, b * push.b_step + i * push.x_step + j);
    }
    barrier();
    for (uint k = gl_LocalInvocationID.y; k < kTile; k += 8u) {
      const uint j = j0 + k, i = i0 + lane;
      if (i < push.rows && j < push.columns)
        WORD(y, 1, (b * push.columns + j) * push.rows + i) = tile[lane][k];
    }
    barrier();
  }
}
