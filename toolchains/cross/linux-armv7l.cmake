# Linux on 32-bit Arm with hardware floats: ARMv7-A with NEON and fused multiply-add (Cortex-A7 and later).
set(CMAKE_SYSTEM_PROCESSOR armv7l)
set(triplet arm-linux-gnueabihf)
set(qemu arm)
set(CMAKE_C_FLAGS_INIT "-mfpu=neon-vfpv4 -mfp16-format=ieee")
# -Wno-psabi: no notes that GCC 7.1 changed how 8-byte aligned structures are passed; nothing here was compiled by an older one.
set(CMAKE_CXX_FLAGS_INIT "-mfpu=neon-vfpv4 -mfp16-format=ieee -Wno-psabi")
include(${CMAKE_CURRENT_LIST_DIR}/linux.cmake)
