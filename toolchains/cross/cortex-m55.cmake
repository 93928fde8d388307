# Arm Cortex-M55 with floating-point unit and vector extension (Helium); QEMU's board MPS3 AN547.
set(CMAKE_SYSTEM_PROCESSOR cortex-m55)
set(cpu "-mcpu=cortex-m55 -mfloat-abi=hard")
set(board mps3-an547)
include(${CMAKE_CURRENT_LIST_DIR}/baremetal.cmake)
