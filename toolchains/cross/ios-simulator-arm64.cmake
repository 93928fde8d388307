# The simulator of iPhones on a Mac with an Apple processor, by Xcode.
set(CMAKE_SYSTEM_NAME iOS)
set(sdk iphonesimulator)
set(oldest 13.0)
include(${CMAKE_CURRENT_LIST_DIR}/apple.cmake)
