// The push block of batches of products of matrices (GemmPush in kernels/common/gemm_vk.h).

#include "operands.glsl"

PUSH
  uint batches, rows, columns, depth;
  uint a_pitch, b_pitch, y_pitch;  ///< elements from row to row as they lie in memory
  uint flags;
  float low, high;
  uint splits;
  // The batch dims, the innermost first.
  uint extents[5];
  uint a_steps[6], b_steps[6];
PUSH_END

/// The first elements of this batch's matrices.
void find_batch(uint batch, out uint a, out uint b) {
  a = 0u;
  b = 0u;
  for (int d = 0; d < 6 && batch != 0u; ++d) {
    const uint i = d < 5 ? batch % push.extents[d] : batch;
    batch = d < 5 ? batch / push.extents[d] : 0u;
    a += i * push.a_steps[d];
    b += i * push.b_steps[d];
  }
}
