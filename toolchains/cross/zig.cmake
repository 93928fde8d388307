# What the toolchain files of zig share: clang with the C and C++ libraries of macOS, Windows and musl, as PyPI's `ziglang`
# carries them. `toolchains/bootstrap deps --zig` installs it. The including file sets CMAKE_SYSTEM_NAME,
# CMAKE_SYSTEM_PROCESSOR and `zig_target`.
set(zig_cache "$ENV{LAZYRT_CACHE}")
if(NOT zig_cache)
  set(zig_cache "$ENV{HOME}/.cache/lazyrt")
endif()
file(STRINGS ${CMAKE_CURRENT_LIST_DIR}/../dependencies.lock zig_version REGEX "^zig ")
string(REGEX REPLACE "^zig +ziglang +([0-9.]+) .*" "\\1" zig_version "${zig_version}")
set(zig_home ${zig_cache}/zig-${zig_version})
if(NOT EXISTS ${zig_home}/bin/c++)
  message(FATAL_ERROR "zig ${zig_version} is not in ${zig_home}: run `toolchains/bootstrap deps --zig` once")
endif()

set(CMAKE_C_COMPILER ${zig_home}/bin/cc)
set(CMAKE_CXX_COMPILER ${zig_home}/bin/c++)
set(CMAKE_C_COMPILER_TARGET ${zig_target})
set(CMAKE_CXX_COMPILER_TARGET ${zig_target})
set(CMAKE_AR ${zig_home}/bin/ar)
set(CMAKE_RANLIB ${zig_home}/bin/ranlib)

include(${CMAKE_CURRENT_LIST_DIR}/host_headers.cmake)
