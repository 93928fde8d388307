// Compiled with avx2 enabled (runtime/CMakeLists.txt); empty on other processors.
#if defined(__AVX2__)
#define LAZYRT_ISA vector_avx2
#define LAZYRT_ISA_NAME "avx2"
#define LAZYRT_ISA_KIND kAvx2
#include "runtime/backends/cpu/vector_ops_inl.h"
#endif
