// Compiled with avx512 enabled (runtime/CMakeLists.txt); empty on other processors.
#if defined(__AVX512F__)
#define LAZYRT_ISA vector_avx512
#define LAZYRT_ISA_NAME "avx512"
#define LAZYRT_ISA_KIND kAvx512
#include "runtime/backends/cpu/vector_ops_inl.h"
#endif
