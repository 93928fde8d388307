# iPhones and iPads, by Xcode.
set(CMAKE_SYSTEM_NAME iOS)
set(sdk iphoneos)
set(oldest 13.0)
include(${CMAKE_CURRENT_LIST_DIR}/apple.cmake)
