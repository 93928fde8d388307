// A tile of y [rows, columns] = a [rows, depth] b [depth, columns] by a workgroup of 128 invocations.
//
// A step of the loop over depth stages kTileRows x 16 of a and 16 x kTileColumns of b in shared memory; an invocation
// keeps kRows x 4 kQuads sums. Operations for each byte that is staged, kTileRows kTileColumns / 2 (kTileRows +
// kTileColumns): 21 of tiles of 128 x 64, 16 of 64 x 64, 13 of 128 x 32, 11 of 32 x 64.
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

// Loops over an invocation's own arrays are written out. glslc cannot unroll a loop whose bound is a specialisation constant, and a
// driver that does not unroll it keeps the array in memory (llvmpipe took twice as long).
#define EACH_SLOT(M) M(0u) M(1u) M(2u) M(3u)
#define EACH_ROW(M) M(0u) M(1u) M(2u) M(3u) M(4u) M(5u) M(6u) M(7u)

/// `by_depth`: b lies in memory with its depth innermost.
void stage(uint first_row, uint first_column, uint k, bool by_depth) {
  const uint t = gl_LocalInvocationIndex;
  begin_step(k + 4u * (t % 4u));
#define STAGE(s) \
  if (s < kSlots) a_tile[(s * 32u + t / 4u) * kPitchA + t % 4u] = load_a(s, first_row + s * 32u + t / 4u, k + 4u * (t % 4u));
  EACH_SLOT(STAGE)
  for (uint s = 0u; s < kLoadsB; ++s) {
    const uint e = s * 128u + t;
    const uint level = by_depth ? e % kDepth : e / (kTileColumns / 4u);
    const uint quad = by_depth ? e / kDepth : e % (kTileColumns / 4u);
    b_tile[level * kPitchB + quad] = load_b(k + level, first_column + 4u * quad);
  }
}

/// Four columns of four levels of the staged b.
mat4 load_levels(uint at) {
  return mat4(b_tile[at], b_tile[at + kPitchB], b_tile[at + 2u * kPitchB], b_tile[at + 3u * kPitchB]);
}
vec4 add_products(vec4 sum, vec4 a, mat4 b) {
  sum += a.x * b[0];
  sum += a.y * b[1];
  sum += a.z * b[2];
  sum += a.w * b[3];
  return sum;
}

/// Computes a tile from the levels of depth part.x to part.y - 1. REQUIRES: part.x is a multiple of 16, and so is part.y
/// unless it is the end of the depth.
void multiply_tile(uint first_row, uint first_column, uvec2 part, bool by_depth) {
  const uint t = gl_LocalInvocationIndex;
  const uint tx = t % kThreadColumns, ty = t / kThreadColumns;
  vec4 sums[8], right[8];  // of the first four columns, and of four more where kQuads is 2
#define BEGIN(i) sums[i] = right[i] = vec4(0.0);
  EACH_ROW(BEGIN)
#define BEGIN_ROW(s) if (s < kSlots) begin_row(s, first_row + s * 32u + t / 4u);
  EACH_SLOT(BEGIN_ROW)
  for (uint k = part.x; k < part.y; k += kDepth) {
    stage(first_row, first_column, k, by_depth);
    barrier();
    [[dont_unroll]] for (uint q = 0u; q < kDepth / 4u; ++q) {
      const mat4 b = load_levels(4u * q * kPitchB + tx);
      mat4 c;
      if (kQuads == 2u) c = load_levels(4u * q * kPitchB + tx + kThreadColumns);
#define ADD(i)                                                    \
  if (i < kRows) {                                                \
    const vec4 a = a_tile[(ty + i * kThreadRows) * kPitchA + q];  \
    sums[i] = add_products(sums[i], a, b);                        \
    if (kQuads == 2u) right[i] = add_products(right[i], a, c);    \
  }
      EACH_ROW(ADD)
    }
    barrier();
  }
  const uint column = first_column + 4u * tx;
#define STORE(i)                                                                \
  if (i < kRows) {                                                              \
    const uint row = first_row + ty + i * kThreadRows;                          \
    store_quad(row, column, sums[i]);                                           \
    if (kQuads == 2u) store_quad(row, column + 4u * kThreadColumns, right[i]);  \
  }
  EACH_ROW(STORE)
}

/// The number of the product that this workgroup has a tile of, and the tile's first row and column in it.
uvec3 own_tile() {
  const uint across = (push.columns + kTileColumns - 1u) / kTileColumns;
  const uint down = (push.rows + kTileRows - 1u) / kTileRows;
  const uint tile = workgroup() % (across * down);
  return uvec3(workgroup() / (across * down), tile / across * kTileRows, tile % across * kTileColumns);
}
