// What gemm.comp and gemv.comp share.

#include "gemm_push.glsl"
#include "gemm_operands.glsl"

/// Sets where the matrices of this batch begin; the results of a part of the depth lie behind those of earlier parts.
void begin_batch(uint batch, uint split) {
  uint a, b;
  find_batch(batch, a, b);
  begin_matrices(a, b, 0u, (split * push.batches + batch) * push.rows * push.columns);
}

void store_quad(uint row, uint column, vec4 v) { store_at(row, row, column, v); }

/// a[row][k ... k + 3].
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
