# Arm Cortex-M4 with its single-precision floating-point unit; QEMU's board MPS2 AN386.
set(CMAKE_SYSTEM_PROCESSOR cortex-m4f)
set(cpu "-mcpu=cortex-m4 -mfloat-abi=hard -mfpu=fpv4-sp-d16")
set(board mps2-an386)
include(${CMAKE_CURRENT_LIST_DIR}/baremetal.cmake)
