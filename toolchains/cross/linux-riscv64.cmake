# Linux on 64-bit RISC-V: RV64GC, without the vector extension.
set(CMAKE_SYSTEM_PROCESSOR riscv64)
set(triplet riscv64-linux-gnu)
set(qemu riscv64)
# g++ 12 has no intrinsics of the vector extension: XNNPACK takes its scalar kernels.
set(XNNPACK_ENABLE_RISCV_VECTOR OFF)
include(${CMAKE_CURRENT_LIST_DIR}/linux.cmake)
