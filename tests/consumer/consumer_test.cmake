# Installs LazyRT into an empty prefix, moves the prefix (it must not depend on where it was made), builds the consumer
# project against it alone and runs it on a bundle. Run by ctest with -D: BUILD_DIR, WORK_DIR,
# WRITER (the program that writes the bundle), CXX, CC, VULKAN (whether there is that backend), for another processor TOOLCHAIN and EMULATOR.
function(step name)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE status OUTPUT_VARIABLE out ERROR_VARIABLE out)
  if(NOT status EQUAL 0)
    message(FATAL_ERROR "${name} failed (${status}):\n${out}")
  endif()
  message(STATUS "${name}: ${out}")
  set(out "${out}" PARENT_SCOPE)
endfunction()

if(TOOLCHAIN)
  set(toolchain -DCMAKE_TOOLCHAIN_FILE=${TOOLCHAIN})
endif()

file(REMOVE_RECURSE ${WORK_DIR})
file(MAKE_DIRECTORY ${WORK_DIR})
step(install ${CMAKE_COMMAND} --install ${BUILD_DIR} --prefix ${WORK_DIR}/first)
file(RENAME ${WORK_DIR}/first ${WORK_DIR}/moved)
step(write ${EMULATOR} ${WRITER} ${WORK_DIR}/consumer.lzb)
step(list ${EMULATOR} ${WORK_DIR}/moved/bin/lazy-run --ops ${WORK_DIR}/consumer.lzb)
file(WRITE ${WORK_DIR}/consumer.ops "# of consumer.lzb\n${out}")
# No cache, no environment: the prefix has to be enough.
step(configure ${CMAKE_COMMAND} -E env --unset=XNNPACK_ROOT --unset=LAZYRT_CACHE HOME=/nonexistent
  ${CMAKE_COMMAND} -S ${CMAKE_CURRENT_LIST_DIR} -B ${WORK_DIR}/build -G Ninja -DCMAKE_BUILD_TYPE=Release
  -DCMAKE_PREFIX_PATH=${WORK_DIR}/moved -DCMAKE_CXX_COMPILER=${CXX} -DCMAKE_C_COMPILER=${CC}
  -DVULKAN=${VULKAN} -DBUNDLE=${WORK_DIR}/consumer.lzb -DLIST=${WORK_DIR}/consumer.ops -DCMAKE_EXE_LINKER_FLAGS=-s
  -DCMAKE_FIND_USE_PACKAGE_REGISTRY=OFF ${toolchain})
step(build ${CMAKE_COMMAND} --build ${WORK_DIR}/build)
set(programs consumer selective reference_only)
if(VULKAN)
  list(APPEND programs on_gpu selective_on_gpu own_device)
endif()
foreach(program IN LISTS programs)
  execute_process(COMMAND ${EMULATOR} ${WORK_DIR}/build/${program} ${WORK_DIR}/consumer.lzb OUTPUT_VARIABLE out
    RESULT_VARIABLE status)
  if(NOT status EQUAL 0 OR NOT out STREQUAL "0 0 2 4 6 8 ")
    message(FATAL_ERROR "${program} printed '${out}' (exit code ${status}), not '0 0 2 4 6 8 '")
  endif()
  file(SIZE ${WORK_DIR}/build/${program} bytes_${program})
endforeach()

# refused(PROGRAM NAME TEXT): it runs no such bundle, and says why.
function(refused program name text)
  execute_process(COMMAND ${EMULATOR} ${WORK_DIR}/build/${program} ${WORK_DIR}/${name} ERROR_VARIABLE err RESULT_VARIABLE status)
  string(FIND "${err}" "${text}" at)
  if(NOT status EQUAL 1 OR at EQUAL -1)
    message(FATAL_ERROR "${program} ${name}: '${err}' (exit code ${status}) does not say '${text}'")
  endif()
endfunction()
refused(consumer none.lzb none.lzb)
step(write ${EMULATOR} ${WRITER} ${WORK_DIR}/op.lzb softmax)
step(write ${EMULATOR} ${WRITER} ${WORK_DIR}/function.lzb abs)
step(write ${EMULATOR} ${WRITER} ${WORK_DIR}/type.lzb relu f64)
foreach(program IN ITEMS selective reference_only)
  file(STRINGS ${CMAKE_CURRENT_LIST_DIR}/CMakeLists.txt lines)
  set(line 0)
  foreach(text IN LISTS lines)
    math(EXPR line "${line} + 1")
    if(text MATCHES "^lazyrt_selective\\(${program} ")
      break()
    endif()
  endforeach()
  set(change "was left out: add this bundle to lazyrt_selective(${program} ...) in CMakeLists.txt:${line}")
  refused(${program} op.lzb "operator Softmax ${change}")
  refused(${program} function.lzb "function Abs ${change}")
  refused(${program} type.lzb "f64 of Add ${change}")
endforeach()

# What is left out is not there. Bytes of all, selective, without XNNPACK: x86-64 2641040 (shaders are 880,000 of them), 469856, 215656; without Vulkan 64-bit Arm 1772808, 396192, 264888;
# 32-bit Arm 1473808, 288816, 165796; RISC-V, which has only XNNPACK's scalar kernels, 1064384, 252888, 183048.
message(STATUS "bytes: all ${bytes_consumer}, selective ${bytes_selective}, without XNNPACK ${bytes_reference_only}")
math(EXPR most_selective "${bytes_consumer} * 3 / 10")
math(EXPR most_reference_only "${bytes_selective} * 3 / 4")
if(bytes_selective GREATER most_selective OR bytes_reference_only GREATER most_reference_only)
  message(FATAL_ERROR "of ${bytes_consumer} bytes a selective build has ${bytes_selective}, which are to be at most ${most_selective}; "
    "one without XNNPACK ${bytes_reference_only}, at most ${most_reference_only}")
endif()
