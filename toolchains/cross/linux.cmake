# What the toolchain files of Linux on other processors share: Debian's cross compilers; programs run by QEMU's user mode.
# The including file sets CMAKE_SYSTEM_PROCESSOR, `triplet` (Debian's name of the target) and `qemu` (QEMU's).
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_C_COMPILER ${triplet}-gcc)
set(CMAKE_CXX_COMPILER ${triplet}-g++)
set(CMAKE_LIBRARY_ARCHITECTURE ${triplet})

# Libraries and programs to link come from the target, tools from this machine; of headers and CMake packages the target's
# come first and this machine's serve where there is nothing to link (FlatBuffers, Highway, CLI11, json).
set(CMAKE_FIND_ROOT_PATH /usr/${triplet})
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE BOTH)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE BOTH)

# -L: where the target's dynamic linker and libraries are.
set(CMAKE_CROSSCOMPILING_EMULATOR qemu-${qemu} -L /usr/${triplet})
