# What the toolchain files of Apple's systems share: Xcode's compilers and SDKs. The including file sets CMAKE_SYSTEM_NAME,
# `sdk` (as xcrun names it) and `oldest`, the first version of the system that is served.
find_program(LAZYRT_XCRUN xcrun)
set(sdk_path "")
if(LAZYRT_XCRUN)
  execute_process(COMMAND ${LAZYRT_XCRUN} --sdk ${sdk} --show-sdk-path OUTPUT_VARIABLE sdk_path OUTPUT_STRIP_TRAILING_WHITESPACE
    ERROR_QUIET)
endif()
if(NOT IS_DIRECTORY "${sdk_path}")
  message(FATAL_ERROR "There is no SDK '${sdk}': install Xcode and run `xcode-select --install` (macOS can be built without: "
    "preset zig-macos-aarch64)")
endif()
set(CMAKE_OSX_SYSROOT "${sdk_path}")
set(CMAKE_OSX_ARCHITECTURES arm64)
set(CMAKE_SYSTEM_PROCESSOR arm64)
if(NOT CMAKE_OSX_DEPLOYMENT_TARGET)
  set(CMAKE_OSX_DEPLOYMENT_TARGET ${oldest})
endif()
include(${CMAKE_CURRENT_LIST_DIR}/host_headers.cmake)
