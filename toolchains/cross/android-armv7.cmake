# Android on 32-bit Arm with NEON, by the NDK in ANDROID_NDK_ROOT.
set(ANDROID_ABI armeabi-v7a)
include(${CMAKE_CURRENT_LIST_DIR}/android.cmake)
