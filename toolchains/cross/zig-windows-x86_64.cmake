# Windows on x86-64, as MinGW builds for it. Programs run under wine.
set(CMAKE_SYSTEM_NAME Windows)
set(CMAKE_SYSTEM_PROCESSOR x86_64)
set(zig_target x86_64-windows-gnu)
set(CMAKE_CROSSCOMPILING_EMULATOR /usr/lib/wine/wine64)
set(CMAKE_RC_COMPILER ${CMAKE_CURRENT_LIST_DIR}/none)  # no resources
include(${CMAKE_CURRENT_LIST_DIR}/zig.cmake)
