#include "runtime/backends/cpu/vector_ops.h"

#if defined(__x86_64__)
#include <cpuinfo.h>
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

namespace {

bool has_avx2() {
  return cpuinfo_has_x86_avx2() && cpuinfo_has_x86_fma3() && cpuinfo_has_x86_f16c() &&
         cpuinfo_has_x86_bmi2();
}

bool has_avx512() {
  return has_avx2() && cpuinfo_has_x86_avx512f() && cpuinfo_has_x86_avx512bw() &&
         cpuinfo_has_x86_avx512dq() && cpuinfo_has_x86_avx512vl();
}

}  // namespace

size_t all_vector_ops(const VectorOps* (&out)[kMaxVectorOps]) {
  size_t n = 0;
  const bool known = cpuinfo_initialize();
  if (known && has_avx512()) out[n++] = &vector_avx512::kVectorOps;
  if (known && has_avx2()) out[n++] = &vector_avx2::kVectorOps;
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
