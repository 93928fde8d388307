# Run with -DROOT -DWORK: the toolchain files of Apple's systems take the SDK that xcrun names and tell CMake of it, and a missing
# one is named. `xcrun` here is a script; nothing is compiled.
include(${CMAKE_CURRENT_LIST_DIR}/checks.cmake)
file(REMOVE_RECURSE ${WORK})

configure(ios-arm64 PATH=${WORK}/nothing:/usr/bin:/bin)
if(status EQUAL 0)
  message(FATAL_ERROR "configured without Xcode")
endif()
expect("${output}" "There is no SDK 'iphoneos': install Xcode .*zig-macos-aarch64")

file(MAKE_DIRECTORY ${WORK}/bin ${WORK}/iphoneos.sdk ${WORK}/iphonesimulator.sdk ${WORK}/macosx.sdk)
file(WRITE ${WORK}/bin/xcrun "#!/bin/sh\n[ \"$1 $3\" = '--sdk --show-sdk-path' ] && echo ${WORK}/$2.sdk\n")
file(CHMOD ${WORK}/bin/xcrun PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE)
file(WRITE ${WORK}/note.cmake [[
include(${FILE})
foreach(name IN ITEMS CMAKE_SYSTEM_NAME CMAKE_OSX_SYSROOT CMAKE_OSX_ARCHITECTURES CMAKE_SYSTEM_PROCESSOR CMAKE_OSX_DEPLOYMENT_TARGET
                      CMAKE_FIND_ROOT_PATH_MODE_PACKAGE)
  message("${name}=${${name}}")
endforeach()
]])
foreach(line IN ITEMS "ios-arm64 iOS iphoneos 13.0" "ios-simulator-arm64 iOS iphonesimulator 13.0" "macos-arm64 Darwin macosx 11.0")
  string(REPLACE " " ";" line ${line})
  list(POP_FRONT line file system sdk oldest)
  execute_process(COMMAND ${CMAKE_COMMAND} -E env PATH=${WORK}/bin:/usr/bin:/bin ${CMAKE_COMMAND}
    -DFILE=${ROOT}/toolchains/cross/${file}.cmake -P ${WORK}/note.cmake
    WORKING_DIRECTORY ${WORK} OUTPUT_VARIABLE noted ERROR_VARIABLE noted COMMAND_ERROR_IS_FATAL ANY)
  expect("${noted}" "CMAKE_SYSTEM_NAME=${system} CMAKE_OSX_SYSROOT=${WORK}/${sdk}.sdk CMAKE_OSX_ARCHITECTURES=arm64")
  expect("${noted}" "CMAKE_SYSTEM_PROCESSOR=arm64 CMAKE_OSX_DEPLOYMENT_TARGET=${oldest} CMAKE_FIND_ROOT_PATH_MODE_PACKAGE=BOTH")
endforeach()
