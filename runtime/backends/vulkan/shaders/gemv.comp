#version 450
// Batches of products of matrices where a has at most kRows rows: a workgroup makes 32 columns, 16 invocations share the
// depth of each four of them. b is read once: 0.5 operations for each of its bytes and row.
#extension GL_EXT_control_flow_attributes : enable
#include "gemm_batch.glsl"

layout(local_size_x = 128) in;
layout(constant_id = 0) const uint kRows = 4u;

shared vec4 parts[kRows * 128u];

// Written out for the same reason as in gemm.glsl.
#define EACH_ROW(M) M(0u) M(1u) M(2u) M(3u)

void main() {
  const uint across = (push.columns + 31u) / 32u;
  const uint product = workgroup() / across;
  if (product >= push.batches * push.splits) return;
  begin_batch(product / push.splits, product % push.splits);
  const uvec2 part = part_of_depth(product % push.splits);
  const uint t = gl_LocalInvocationIndex;
  // Neighbours read neighbouring words of b.
  const uint quad = has(kByDepth) ? t / 16u : t % 8u, slice = has(kByDepth) ? t % 16u : t / 8u;
  const uint column = workgroup() % across * 32u + 4u * quad;
  vec4 sums[4] = {vec4(0.0), vec4(0.0), vec4(0.0), vec4(0.0)};
  for (uint k = part.x + 4u * slice; k < part.y; k += 64u) {
    vec4 b[4];
    if (has(kByDepth) && has(kQuadsB)) {
      [[unroll]] for (uint c = 0u; c < 4u; ++c)
        b[c] = column + c < push.columns ? b4[(b_begin + (column + c) * push.b_pitch + k) / 4u] : vec4(0.0);
      const mat4 turned = transpose(mat4(b[0], b[1], b[2], b[3]));
      [[unroll]] for (uint c = 0u; c < 4u; ++c) b[c] = turned[c];
    } else {
      [[unroll]] for (uint c = 0u; c < 4u; ++c) b[c] = b_quad(k + c, column);
    }
#define ADD(r)                    \
  if (r < kRows) {                \
    const vec4 a = a_quad(r, k);  \
    sums[r] += a.x * b[0];        \
    sums[r] += a.y * b[1];        \
    sums[r] += a.z * b[2];        \
    sums[r] += a.w * b[3];        \
  }
    EACH_ROW(ADD)
  }
#define SHARE(r) if (r < kRows) parts[(r * 16u + slice) * 8u + quad] = sums[r];
  EACH_ROW(SHARE)
  barrier();
  if (slice >= kRows) return;
  vec4 sum = vec4(0.0);
  for (uint s = 0u; s < 16u; ++s) sum += parts[(slice * 16u + s) * 8u + quad];
  store_quad(slice, column, sum);
}
