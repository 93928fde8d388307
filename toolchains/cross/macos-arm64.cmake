# macOS on Apple processors, by Xcode.
set(CMAKE_SYSTEM_NAME Darwin)
set(sdk macosx)
set(oldest 11.0)
include(${CMAKE_CURRENT_LIST_DIR}/apple.cmake)
