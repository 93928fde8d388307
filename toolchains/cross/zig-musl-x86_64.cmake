# Linux with musl instead of glibc, x86-64; programs are static and run on any Linux of that processor, this one too.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR x86_64)
set(zig_target x86_64-linux-musl)
set(CMAKE_EXE_LINKER_FLAGS_INIT -static)
# Runs them as they are.
set(CMAKE_CROSSCOMPILING_EMULATOR /usr/bin/env)
include(${CMAKE_CURRENT_LIST_DIR}/zig.cmake)
