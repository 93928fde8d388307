# Android on x86-64 (emulators), by the NDK in ANDROID_NDK_ROOT.
set(ANDROID_ABI x86_64)
include(${CMAKE_CURRENT_LIST_DIR}/android.cmake)
