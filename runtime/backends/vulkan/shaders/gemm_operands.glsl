// Operands of products of matrices, with a bias of each column and a clamp. Include it behind a push block with
//
//   uint rows, columns, depth;  of y and its sum
//   uint b_pitch, y_pitch;      elements from row to row of b as it lies in memory, and of y
//   uint flags;                 made by gemm_flags (kernels/common/gemm_vk.h)
//   float low, high;
//   uint splits;                parts of the depth, which gemm_sum.comp adds up

#include "math.glsl"

const uint kQuadsA = 1u, kQuadsB = 2u, kQuadsY = 4u;  // may be read and written in fours
const uint kByDepth = 8u;                             // b is [columns, depth]
const uint kHasBias = 16u;

bool has(uint flag) { return (push.flags & flag) != 0u; }

// Each operand as numbers and as fours.
layout(binding = 0, std430) readonly buffer A { float a1[]; };
layout(binding = 0, std430) readonly buffer AQuads { vec4 a4[]; };
layout(binding = 1, std430) readonly buffer B { float b1[]; };
layout(binding = 1, std430) readonly buffer BQuads { vec4 b4[]; };
layout(binding = 2, std430) readonly buffer Bias { float bias1[]; };
layout(binding = 3, std430) writeonly buffer Y { float y1[]; };
layout(binding = 3, std430) writeonly buffer YQuads { vec4 y4[]; };

// Where the matrices of this workgroup begin.
uint a_begin, b_begin, bias_begin, y_begin;

/// Sets them, given in elements from where the operands begin.
void begin_matrices(uint a, uint b, uint bias, uint y) {
  a_begin = push.begin[0] + a;
  b_begin = push.begin[1] + b;
  bias_begin = push.begin[2] + bias;
  y_begin = push.begin[3] + y;
}

/// Returns the levels of depth of this part, the end excluded; parts begin at multiples of 16.
uvec2 part_of_depth(uint split) {
  const uint each = ((push.depth + push.splits - 1u) / push.splits + 15u) / 16u * 16u;
  return min(uvec2(split * each, (split + 1u) * each), uvec2(push.depth));
}

uint workgroup() { return gl_WorkGroupID.y * gl_NumWorkGroups.x + gl_WorkGroupID.x; }

/// b[k][column ... column + 3].
vec4 b_quad(uint k, uint column) {
  if (k >= push.depth || column >= push.columns) return vec4(0.0);
  const uint step = has(kByDepth) ? push.b_pitch : 1u;
  const uint at = b_begin + (has(kByDepth) ? column * push.b_pitch + k : k * push.b_pitch + column);
  if (has(kQuadsB) && step == 1u) return b4[at / 4u];
  vec4 v = vec4(b1[at], 0.0, 0.0, 0.0);
  if (column + 1u < push.columns) v.y = b1[at + step];
  if (column + 2u < push.columns) v.z = b1[at + 2u * step];
  if (column + 3u < push.columns) v.w = b1[at + 3u * step];
  return v;
}

/// y[y_row][column ... column + 3] = v + bias, clamped. Stores nothing if `row` is outside of the product, and only the
/// columns that are inside.
void store_at(uint row, uint y_row, uint column, vec4 v) {
  if (row >= push.rows || column >= push.columns) return;
  const uint left = push.columns - column;
  if (has(kHasBias)) {
    const uint from = bias_begin + column;
    v.x += bias1[from];
    if (left > 1u) v.y += bias1[from + 1u];
    if (left > 2u) v.z += bias1[from + 2u];
    if (left > 3u) v.w += bias1[from + 3u];
  }
  v = vec4(clamp_to(v.x, push.low, push.high), clamp_to(v.y, push.low, push.high), clamp_to(v.z, push.low, push.high),
           clamp_to(v.w, push.low, push.high));
  const uint at = y_begin + y_row * push.y_pitch + column;
  if (has(kQuadsY)) {
    y4[at / 4u] = v;
    return;
  }
  y1[at] = v.x;
  if (left > 1u) y1[at + 1u] = v.y;
  if (left > 2u) y1[at + 2u] = v.z;
  if (left > 3u) y1[at + 3u] = v.w;
}
