# macOS on Apple's processors, without Xcode.
set(CMAKE_SYSTEM_NAME Darwin)
set(CMAKE_SYSTEM_PROCESSOR arm64)
set(zig_target aarch64-macos)
set(CMAKE_INSTALL_NAME_TOOL /bin/false)  # CMake asks for one; only shared libraries need it
include(${CMAKE_CURRENT_LIST_DIR}/zig.cmake)
