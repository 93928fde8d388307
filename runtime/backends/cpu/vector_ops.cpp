#include "runtime/backends/cpu/vector_ops.h"

#if defined(__x86_64__)
#include <cpuinfo.h>
#endif

// What the compiler's own target allows; on Arm with NEON that is all there is.
#define LAZYRT_ISA vector_baseline
#define LAZYRT_ISA_NAME "baseline"
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

const VectorOps& vector_ops() {
  if (!cpuinfo_initialize()) return vector_baseline::kVectorOps;
  if (has_avx512()) return vector_avx512::kVectorOps;
  return has_avx2() ? vector_avx2::kVectorOps : vector_baseline::kVectorOps;
}
#else
const VectorOps& vector_ops() { return vector_baseline::kVectorOps; }
#endif

}  // namespace lazyrt
