# `cmake --install`: one archive lib/liblazyrt.a of all runtime parts, the public headers, the third-party archives it links
# (lib/lazyrt/), lazy-run, licences, the kernels' sources for lazyrt_selective (share/lazyrt/src/), and a package that
# find_package(lazyrt) needs no other prefix for.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

# lazyrt_static_parts(OUT TARGET): the static libraries of ours that TARGET links, directly or not.
function(lazyrt_static_parts out target)
  set(queue ${target})
  set(seen)
  set(parts)
  while(queue)
    list(POP_FRONT queue item)
    string(REGEX REPLACE "^\\$<LINK_ONLY:(.*)>$" "\\1" item "${item}")
    if(item IN_LIST seen OR NOT TARGET ${item} OR NOT item MATCHES "^lazyrt")
      continue()
    endif()
    list(APPEND seen ${item})
    get_target_property(type ${item} TYPE)
    if(type STREQUAL "STATIC_LIBRARY")
      list(APPEND parts ${item})
    endif()
    get_target_property(links ${item} INTERFACE_LINK_LIBRARIES)
    if(links)
      list(APPEND queue ${links})
    endif()
  endwhile()
  set(${out} ${parts} PARENT_SCOPE)
endfunction()

lazyrt_static_parts(parts lazyrt_runtime)
set(objects)
foreach(part IN LISTS parts)
  list(APPEND objects $<TARGET_OBJECTS:${part}>)
endforeach()
add_library(lazyrt_archive STATIC ${objects})
set_target_properties(lazyrt_archive PROPERTIES OUTPUT_NAME lazyrt LINKER_LANGUAGE CXX)

set(LAZYRT_THIRD_PARTY)
if(LAZYRT_HAS_XNNPACK)
  set(LAZYRT_THIRD_PARTY XNNPACK microkernels-prod pthreadpool cpuinfo)
endif()
set(package ${CMAKE_INSTALL_LIBDIR}/cmake/lazyrt)
configure_package_config_file(
  ${CMAKE_CURRENT_LIST_DIR}/lazyrtConfig.cmake.in ${CMAKE_BINARY_DIR}/lazyrtConfig.cmake
  INSTALL_DESTINATION ${package} PATH_VARS CMAKE_INSTALL_LIBDIR CMAKE_INSTALL_INCLUDEDIR CMAKE_INSTALL_DATADIR CMAKE_INSTALL_BINDIR)
write_basic_package_version_file(${CMAKE_BINARY_DIR}/lazyrtConfigVersion.cmake COMPATIBILITY SameMinorVersion)

install(TARGETS lazyrt_archive ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(DIRECTORY ${PROJECT_SOURCE_DIR}/runtime/include/lazyrt DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
  FILES_MATCHING PATTERN "*.h" PATTERN "*.inc")
foreach(lib IN LISTS LAZYRT_THIRD_PARTY)
  install(FILES ${XNNPACK_${lib}_LIBRARY} DESTINATION ${CMAKE_INSTALL_LIBDIR}/lazyrt)
endforeach()

set(sources ${CMAKE_INSTALL_DATADIR}/lazyrt/src)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/kernels DESTINATION ${sources} FILES_MATCHING PATTERN "*.h" PATTERN "*.cpp" PATTERN "*.inc"
  PATTERN "*_test.cpp" EXCLUDE PATTERN "*_cases.cpp" EXCLUDE PATTERN "decisions" EXCLUDE)
set(folders core op platform backend backends/cpu)
if(LAZYRT_VULKAN)
  list(APPEND folders backends/vulkan)
endif()
foreach(part IN LISTS folders)
  file(GLOB headers CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/runtime/${part}/*.h ${PROJECT_SOURCE_DIR}/runtime/${part}/*.inc)
  install(FILES ${headers} DESTINATION ${sources}/runtime/${part})
endforeach()
install(FILES ${LAZYRT_GENERATED_DIR}/schema/functions_generated.h ${LAZYRT_GENERATED_DIR}/schema/ops_generated.h
  DESTINATION ${sources}/schema)
set(headers flatbuffers/flatbuffers.h)
if(LAZYRT_CPU_BACKEND)
  list(APPEND headers hwy/highway.h)
endif()
if(LAZYRT_HAS_XNNPACK)
  install(FILES ${XNNPACK_PREFIX}/include/xnnpack.h ${XNNPACK_PREFIX}/include/pthreadpool.h ${XNNPACK_PREFIX}/include/cpuinfo.h
    DESTINATION ${sources})
endif()
foreach(header IN LISTS headers)
  string(MAKE_C_IDENTIFIER LAZYRT_${header} variable)
  find_path(${variable} ${header} HINTS ${LAZYRT_HOST_HEADERS} REQUIRED NO_CMAKE_FIND_ROOT_PATH)
  get_filename_component(folder ${header} DIRECTORY)
  install(DIRECTORY ${${variable}}/${folder} DESTINATION ${sources} FILES_MATCHING PATTERN "*.h")
endforeach()
foreach(origin IN ITEMS libhwy-dev libflatbuffers-dev)
  if(EXISTS /usr/share/doc/${origin}/copyright)
    install(FILES /usr/share/doc/${origin}/copyright DESTINATION ${CMAKE_INSTALL_DATADIR}/licenses/lazyrt RENAME ${origin}.txt)
  endif()
endforeach()
install(FILES ${CMAKE_CURRENT_LIST_DIR}/LazyrtIsa.cmake ${CMAKE_CURRENT_LIST_DIR}/LazyrtSelective.cmake
  ${CMAKE_CURRENT_LIST_DIR}/LazyrtKeep.cmake DESTINATION ${package})
install(FILES ${CMAKE_BINARY_DIR}/lazyrtConfig.cmake ${CMAKE_BINARY_DIR}/lazyrtConfigVersion.cmake DESTINATION ${package})
install(FILES ${PROJECT_SOURCE_DIR}/LICENSE DESTINATION ${CMAKE_INSTALL_DATADIR}/licenses/lazyrt)
if(LAZYRT_HAS_XNNPACK AND EXISTS ${XNNPACK_PREFIX}/share/licenses)
  install(DIRECTORY ${XNNPACK_PREFIX}/share/licenses/ DESTINATION ${CMAKE_INSTALL_DATADIR}/licenses/lazyrt)
endif()
if(TARGET lazy-run)
  install(TARGETS lazy-run RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
endif()

# The consumer project builds against an install of this build. Not with sanitizers: it would have to be built with them too.
if(LAZYRT_TESTS AND NOT LAZYRT_SANITIZE AND NOT LAZYRT_BAREMETAL)
  add_executable(consumer_bundle ${PROJECT_SOURCE_DIR}/tests/consumer/write_bundle.cpp)
  set_target_properties(consumer_bundle PROPERTIES CXX_STANDARD 20)
  target_compile_options(consumer_bundle PRIVATE ${LAZYRT_WARNINGS})
  target_link_libraries(consumer_bundle PRIVATE lazyrt_test_support lazyrt_runtime)
  add_test(NAME install.consumer COMMAND ${CMAKE_COMMAND} -DBUILD_DIR=${CMAKE_BINARY_DIR}
    -DWORK_DIR=${CMAKE_BINARY_DIR}/consumer -DWRITER=$<TARGET_FILE:consumer_bundle> -DCXX=${CMAKE_CXX_COMPILER} -DCC=${CMAKE_C_COMPILER}
    -DTOOLCHAIN=${CMAKE_TOOLCHAIN_FILE} "-DEMULATOR=${CMAKE_CROSSCOMPILING_EMULATOR}"
    -DVULKAN=${LAZYRT_VULKAN} -P ${PROJECT_SOURCE_DIR}/tests/consumer/consumer_test.cmake)
  set_tests_properties(install.consumer PROPERTIES TIMEOUT 600)
endif()

if(LAZYRT_TESTS)
  add_test(NAME build.device_flags COMMAND ${CMAKE_COMMAND} -DCOMMANDS=${CMAKE_BINARY_DIR}/compile_commands.json
    -DROOT=${PROJECT_SOURCE_DIR} -P ${PROJECT_SOURCE_DIR}/toolchains/cmake/check_flags.cmake)
endif()
