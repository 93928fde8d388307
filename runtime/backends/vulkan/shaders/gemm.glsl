// A tile of y [rows, columns] = a [rows, depth] b [depth, columns] by a workgroup of 128 invocations.
//
// A step of the loop over depth stages kTileRows x 16 of a and 16 x kTileColumns of b in shared memory; an invocation
// keeps kRows x 4 kQuads sums. Operations for each byte that is staged, kTileRows kTileColumns / 2 (kTileRows +
// kTileColumns): 21 of tiles of 128 x 64, 16 of 64 x 64, 11 of 32 x 64.
//
// The shader that includes this defines these functions; loads return zero outside of the matrices:
//   void begin_row(uint slot, uint row)            is called once for each slot, which keeps its row
//   void begin_step(uint k)                        is called before load_a of this k
//   vec4 load_a(uint slot, uint row, uint k)       a[row][k ... k + 3]
//   vec4 load_b(uint k, uint column)               b[k][column ... column + 3]
//   void store_quad(uint row, uint column, vec4)   y[row][column ... column + 3], if inside

#extension GL_EXT_control_flow_attributes : enable

layout(local_size_x = 128) in;
layout(constant_id = 0) const uint kTileRows = 64u;
layout(constant_id = 1) const uint kTileColumns = 64u;
layout(constant_id = 2) const uint kRows = 8u;
layout(constant_id = 3) const uint kQuads = 1u;

const uint kDepth = 16u;                                    // of a step
const uint kThreadColumns = kTileColumns / (4u * kQuads);   // invocations side by side
const uint kThreadRows = kTileRows / kRows;
const uint kSlots = kTileRows / 32u;                        // rows of a that an invocation loads
const uint kLoadsB = kTileColumns / 32u;
// One more than needed, against conflicts of banks.
const uint kPitchA = kDepth / 4u + 1u;
const uint kPitchB = kTileColumns / 4u + 1u;

shared vec4 a_tile[kTileRows * kPitchA];
shared vec4 b_tile[kDepth * kPitchB];

/// `by_depth`: b lies in memory with its depth innermost.
void stage(uint first_row, uint first_column, uint k, bool by_depth) {
  const uint t = gl_LocalInvocationIndex;
  begin_step(k + 4u * (t % 4u));
  [[unroll]] for (uint s = 0u; s < kSlots; ++s) {
    const uint row = s * 32u + t / 4u;
    a_tile[row * kPitchA + t % 4u] = load_a(s, first_row + row, k + 4u * (t % 4u));
  }
  [[unroll]] for (uint s = 0u; s < kLoadsB; ++s) {
    const uint e = s * 128u + t;
    const uint level = by_depth ? e % kDepth : e / (kTileColumns / 4u);
    const uint quad = by_depth ? e / kDepth : e % (kTileColumns / 4u);
    b_tile[level * kPitchB + quad] = load_b(k + level, first_column + 4u * quad);
  }
}

/// Computes a tile from the levels of depth part.x to part.y - 1. REQUIRES: part.x is a multiple of 16, and so is part.y
/// unless it is the end of the depth.
void multiply_tile(uint first_row, uint first_column, uvec2 part, bool by_depth) {
  const uint t = gl_LocalInvocationIndex;
  const uint tx = t % kThreadColumns, ty = t / kThreadColumns;
  vec4 sums[kRows * kQuads];
  [[unroll]] for (uint i = 0u; i < kRows * kQuads; ++i) sums[i] = vec4(0.0);
  [[unroll]] for (uint s = 0u; s < kSlots; ++s) begin_row(s, first_row + s * 32u + t / 4u);
  for (uint k = part.x; k < part.y; k += kDepth) {
    stage(first_row, first_column, k, by_depth);
    barrier();
    [[dont_unroll]] for (uint q = 0u; q < kDepth / 4u; ++q) {
      vec4 b[4u * kQuads];
      [[unroll]] for (uint c = 0u; c < 4u; ++c) {
        [[unroll]] for (uint j = 0u; j < kQuads; ++j)
          b[c * kQuads + j] = b_tile[(4u * q + c) * kPitchB + tx + j * kThreadColumns];
      }
      [[unroll]] for (uint i = 0u; i < kRows; ++i) {
        const vec4 a = a_tile[(ty + i * kThreadRows) * kPitchA + q];
        [[unroll]] for (uint j = 0u; j < kQuads; ++j) {
          sums[i * kQuads + j] += a.x * b[j];
          sums[i * kQuads + j] += a.y * b[kQuads + j];
          sums[i * kQuads + j] += a.z * b[2u * kQuads + j];
          sums[i * kQuads + j] += a.w * b[3u * kQuads + j];
        }
      }
    }
    barrier();
  }
  [[unroll]] for (uint i = 0u; i < kRows; ++i) {
    [[unroll]] for (uint j = 0u; j < kQuads; ++j)
      store_quad(first_row + ty + i * kThreadRows, first_column + 4u * (tx + j * kThreadColumns), sums[i * kQuads + j]);
  }
}

/// The number of the product that this workgroup has a tile of, and the tile's first row and column in it.
uvec3 own_tile() {
  const uint across = (push.columns + kTileColumns - 1u) / kTileColumns;
  const uint down = (push.rows + kTileRows - 1u) / kTileRows;
  const uint tile = workgroup() % (across * down);
  return uvec3(workgroup() / (across * down), tile / across * kTileRows, tile % across * kTileColumns);
}
