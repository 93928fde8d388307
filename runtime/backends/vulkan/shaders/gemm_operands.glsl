// What gemm.comp and gemv.comp share: batches of products of matrices, with a bias of each column and a clamp.

#include "gemm_push.glsl"

const uint kQuadsA = 1u, kQuadsB = 2u, kQuadsY = 4u;  // may be read and written in fours
const uint kHasBias = 16u;

// Each operand as numbers and as fours.
layout(binding = 0, std430) readonly buffer A { float a1[]; };
layout(binding = 0, std430) readonly buffer AQuads { vec4 a4[]; };
layout(binding = 1, std430) readonly buffer B { float b1[]; };
layout(binding = 1, std430) readonly buffer BQuads { vec4 b4[]; };
layout(binding = 2, std430) readonly buffer Bias { float bias1[]; };
layout(binding = 3, std430) writeonly buffer Y { float y1[]; };
layout(binding = 3, std430) writeonly buffer YQuads { vec4 y4[]; };

// Where the matrices of this workgroup's batch begin.
uint a_begin, b_begin, y_begin;

void begin_batch(uint batch) {
  find_batch(batch, a_begin, b_begin);
  a_begin += push.begin[0];
  b_begin += push.begin[1];
  y_begin = push.begin[3] + batch * push.rows * push.columns;
}

uint workgroup() { return gl_WorkGroupID.y * gl_NumWorkGroups.x + gl_WorkGroupID.x; }

vec4 a_quad(uint row, uint k) {
  if (row >= push.rows || k >= push.depth) return vec4(0.0);
  const uint at = a_begin + row * push.a_pitch + k;
  if (has(kQuadsA)) return a4[at / 4u];
  vec4 v = vec4(a1[at], 0.0, 0.0, 0.0);
  if (k + 1u < push.depth) v.y = a1[at + 1u];
  if (k + 2u < push.depth) v.z = a1[at + 2u];
  if (k + 3u < push.depth) v.w = a1[at + 3u];
  return v;
}

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

float clamped(float x) {
  if ((floatBitsToUint(x) & 0x7fffffffu) > 0x7f800000u) return x;  // NaN: drivers may take it that there is none
  return x < push.low ? push.low : x > push.high ? push.high : x;
}

void store_quad(uint row, uint column, vec4 v) {
  if (row >= push.rows || column >= push.columns) return;
  for (uint c = 0u; c < 4u; ++c) {
    if (has(kHasBias) && column + c < push.columns) v[c] += bias1[push.begin[2] + column + c];
    v[c] = clamped(v[c]);
  }
  const uint at = y_begin + row * push.columns + column;
  if (has(kQuadsY)) {
    y4[at / 4u] = v;
    return;
  }
  for (uint c = 0u; c < 4u && column + c < push.columns; ++c) y1[at + c] = v[c];
}
