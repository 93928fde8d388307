# Android on 64-bit Arm, by the NDK in ANDROID_NDK_ROOT.
set(ANDROID_ABI arm64-v8a)
include(${CMAKE_CURRENT_LIST_DIR}/android.cmake)
