# What the toolchain files of machines without an operating system share: Debian's gcc-arm-none-eabi with newlib-nano;
# programs run in QEMU with semihosting. The including file sets CMAKE_SYSTEM_PROCESSOR, `cpu` (flags that name the core),
# `board` (a linker script of platforms/baremetal/boards, which QEMU calls the same) and, where code and data fit, no more.
set(CMAKE_SYSTEM_NAME Generic)
set(CMAKE_C_COMPILER arm-none-eabi-gcc)
set(CMAKE_CXX_COMPILER arm-none-eabi-g++)
set(CMAKE_TRY_COMPILE_TARGET_TYPE STATIC_LIBRARY)  # a program needs the board's linker script

# __int64_t_defined: Debian's g++ brings a <stdint.h> of its own, so newlib's <inttypes.h> leaves PRId64 out.
# _DEFAULT_SOURCE: lgamma_r, which newlib hides from strict C++.
set(flags "${cpu} -mthumb -ffunction-sections -fdata-sections -fstack-usage -fno-unwind-tables -fno-asynchronous-unwind-tables")
set(CMAKE_C_FLAGS_INIT "${flags}")
set(CMAKE_CXX_FLAGS_INIT "${flags} --specs=nano.specs -fno-threadsafe-statics -fno-use-cxa-atexit -D__int64_t_defined=1 -D_DEFAULT_SOURCE")
# Of the C++ library the headers are enough (libstdc++-arm-none-eabi-dev, 1 MB; the library itself is a download of 313 MB).
set(CMAKE_EXE_LINKER_FLAGS_INIT "-nostartfiles -nodefaultlibs -Wl,--gc-sections")
set(CMAKE_CXX_STANDARD_LIBRARIES_INIT "-lm -lc -lgcc")

include(${CMAKE_CURRENT_LIST_DIR}/host_headers.cmake)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH /usr/arm-none-eabi)

set(LAZYRT_BOARD ${board} CACHE STRING "The linker script of platforms/baremetal/boards for programs of this build")
set(CMAKE_CROSSCOMPILING_EMULATOR
  qemu-system-arm -M ${board} -display none -monitor none -serial none -semihosting-config enable=on,target=native -kernel)
