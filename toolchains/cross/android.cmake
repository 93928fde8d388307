# What the toolchain files of Android share: they defer to the NDK's own. The including file sets ANDROID_ABI.
set(ndk "$ENV{ANDROID_NDK_ROOT}")
if(NOT ndk)
  set(ndk "$ENV{ANDROID_NDK_HOME}")
endif()
if(NOT EXISTS "${ndk}/build/cmake/android.toolchain.cmake")
  message(FATAL_ERROR "There is no Android NDK in '${ndk}': set ANDROID_NDK_ROOT to the folder that has "
    "build/cmake/android.toolchain.cmake (r25 or newer; Android Studio keeps it in Sdk/ndk/VERSION)")
endif()
include(${CMAKE_CURRENT_LIST_DIR}/host_headers.cmake)
if(NOT ANDROID_PLATFORM)
  set(ANDROID_PLATFORM android-24)
endif()
set(ANDROID_STL c++_static)  # programs that toolchains/device pushes need no library beside them
set(ANDROID_SUPPORT_FLEXIBLE_PAGE_SIZES ON)
include("${ndk}/build/cmake/android.toolchain.cmake")
# The NDK brings glslc and spirv-val.
file(GLOB shader_tools "${ndk}/shader-tools/*")
list(PREPEND CMAKE_PROGRAM_PATH ${shader_tools})
