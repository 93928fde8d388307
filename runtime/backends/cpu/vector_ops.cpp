#include "runtime/backends/cpu/vector_ops.h"

#if defined(__x86_64__)
#include "runtime/backends/cpu/x86_features.h"
#endif

// What the compiler's own target allows; on Arm with NEON that is all there is.
#define LAZYRT_ISA vector_baseline
#define LAZYRT_ISA_NAME "baseline"
#define LAZYRT_ISA_KIND kBaseline
#include "runtime/backends/cpu/vector_ops_inl.h"

namespace lazyrt {

#if defined(__x86_64__)
namespace vector_avx2 {
extern const VectorOps kVectorOps;
}
namespace vector_avx512 {
extern const VectorOps kVectorOps;
}

size_t all_vector_ops(const VectorOps* (&out)[kMaxVectorOps]) {
  size_t n = 0;
  const VectorIsa best = best_x86_isa();
  if (best == VectorIsa::kAvx512) out[n++] = &vector_avx512::kVectorOps;
  if (best != VectorIsa::kBaseline) out[n++] = &vector_avx2::kVectorOps;
  out[n++] = &vector_baseline::kVectorOps;
  return n;
}
#else
size_t all_vector_ops(const VectorOps* (&out)[kMaxVectorOps]) {
  out[0] = &vector_baseline::kVectorOps;
  return 1;
}
#endif

const VectorOps& vector_ops() {
  const VectorOps* all[kMaxVectorOps];
  all_vector_ops(all);
  return *all[0];
}

}  // namespace lazyrt
