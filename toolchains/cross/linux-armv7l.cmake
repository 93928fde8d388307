# Linux on 32-bit Arm with hardware floats: ARMv7-A with NEON and fused multiply-add (Cortex-A7 and later).
set(CMAKE_SYSTEM_PROCESSOR armv7l)
set(triplet arm-linux-gnueabihf)
set(qemu arm)
set(CMAKE_C_FLAGS_INIT "-mfpu=neon-vfpv4 -mfp16-format=ieee")
set(CMAKE_CXX_FLAGS_INIT "-mfpu=neon-vfpv4 -mfp16-format=ieee")
include(${CMAKE_CURRENT_LIST_DIR}/linux.cmake)
