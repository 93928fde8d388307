# Installs LazyRT into an empty prefix, moves the prefix (it must not depend on where it was made), builds the consumer
# project against it alone and runs it on a bundle. Run by ctest with -D: BUILD_DIR, WORK_DIR,
# WRITER (the program that writes the bundle), CXX, CC, for another processor TOOLCHAIN and EMULATOR.
function(step name)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE status OUTPUT_VARIABLE out ERROR_VARIABLE out)
  if(NOT status EQUAL 0)
    message(FATAL_ERROR "${name} failed (${status}):\n${out}")
  endif()
  message(STATUS "${name}: ${out}")
endfunction()

if(TOOLCHAIN)
  set(toolchain -DCMAKE_TOOLCHAIN_FILE=${TOOLCHAIN})
endif()

file(REMOVE_RECURSE ${WORK_DIR})
file(MAKE_DIRECTORY ${WORK_DIR})
step(install ${CMAKE_COMMAND} --install ${BUILD_DIR} --prefix ${WORK_DIR}/first)
file(RENAME ${WORK_DIR}/first ${WORK_DIR}/moved)
# No cache, no environment: the prefix has to be enough.
step(configure ${CMAKE_COMMAND} -E env --unset=XNNPACK_ROOT --unset=LAZYRT_CACHE HOME=/nonexistent
  ${CMAKE_COMMAND} -S ${CMAKE_CURRENT_LIST_DIR} -B ${WORK_DIR}/build -G Ninja -DCMAKE_BUILD_TYPE=Release
  -DCMAKE_PREFIX_PATH=${WORK_DIR}/moved -DCMAKE_CXX_COMPILER=${CXX} -DCMAKE_C_COMPILER=${CC}
  -DCMAKE_FIND_USE_PACKAGE_REGISTRY=OFF ${toolchain})
step(build ${CMAKE_COMMAND} --build ${WORK_DIR}/build)
step(write ${EMULATOR} ${WRITER} ${WORK_DIR}/consumer.lzb)
execute_process(COMMAND ${EMULATOR} ${WORK_DIR}/build/consumer ${WORK_DIR}/consumer.lzb OUTPUT_VARIABLE out RESULT_VARIABLE status)
if(NOT status EQUAL 0 OR NOT out STREQUAL "0 0 2 4 6 8 ")
  message(FATAL_ERROR "the consumer printed '${out}' (exit code ${status}), not '0 0 2 4 6 8 '")
endif()
execute_process(COMMAND ${EMULATOR} ${WORK_DIR}/build/consumer ${WORK_DIR}/none.lzb ERROR_VARIABLE err RESULT_VARIABLE status)
if(NOT status EQUAL 1 OR NOT err MATCHES "none.lzb")
  message(FATAL_ERROR "a missing bundle is not named: '${err}' (exit code ${status})")
endif()
