# What every folder's CMakeLists uses: language, warnings, the two target kinds, unit tests.

set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bin)
set(CMAKE_VISIBILITY_INLINES_HIDDEN ON)
set(CMAKE_CXX_VISIBILITY_PRESET hidden)
# Machines without an operating system: no files, threads, heap, and no GoogleTest; tests are firmware (tests/cortex_m).
set(LAZYRT_BAREMETAL OFF)
if(CMAKE_SYSTEM_NAME STREQUAL "Generic")
  set(LAZYRT_BAREMETAL ON)
  set(CMAKE_POSITION_INDEPENDENT_CODE OFF)
endif()
if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE RelWithDebInfo)
endif()

# full: everything. embedded: what small machines do without, runtime/core/profile.h.
set(LAZYRT_DEFINITIONS "")
if(LAZYRT_BAREMETAL)
  list(APPEND LAZYRT_DEFINITIONS LAZYRT_THREADS=0)
endif()
set(LAZYRT_PROFILE full CACHE STRING "full or embedded")
if(LAZYRT_PROFILE STREQUAL "embedded")
  list(APPEND LAZYRT_DEFINITIONS LAZYRT_DYNAMIC_SHAPES=0 LAZYRT_DEVICES=0)
elseif(NOT LAZYRT_PROFILE STREQUAL "full")
  message(FATAL_ERROR "LAZYRT_PROFILE is '${LAZYRT_PROFILE}': full or embedded")
endif()
add_compile_definitions(${LAZYRT_DEFINITIONS})

include(LazyrtIsa)

set(LAZYRT_GENERATED_DIR ${CMAKE_BINARY_DIR}/generated)
set(LAZYRT_WARNINGS -Wall -Wextra -Werror -Wshadow -Wno-missing-field-initializers)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  # All of them warn of "text" + std::string: gcc.gnu.org/PR105651.
  list(APPEND LAZYRT_WARNINGS -Wno-restrict -Wno-array-bounds -Wno-stringop-overflow -Wno-stringop-overread)
endif()
if(LAZYRT_BAREMETAL)
  # int32_t is a long there, of the same size; all other builds check formats. What g++ 7 did differently is no news.
  list(APPEND LAZYRT_WARNINGS -Wno-format -Wno-psabi)
endif()
# What makes the runtime smaller beside -Os: reads of the schema's tables are calls, and nothing holds a register through a loop
# only to be computed once.
set(LAZYRT_SMALL "SHELL:-include ${PROJECT_SOURCE_DIR}/schema/small_fields.h")
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  list(APPEND LAZYRT_SMALL -fno-move-loop-invariants)
endif()
set(LAZYRT_TEST_OPTIONS -O0)  # a test's own code runs once

# Headers of LibTorch, json and the schema are most of the work on host code: it takes half the time when files of a library
# are compiled together. So names in anonymous namespaces are unique within a folder. toolchains/lint compiles each by itself.
option(LAZYRT_UNITY "Compile the files of a host library together" ON)
set(CMAKE_UNITY_BUILD ${LAZYRT_UNITY})
set(CMAKE_UNITY_BUILD_BATCH_SIZE 8)

# A toolchain file's list of folders whose headers are another system's: never passed to the compiler.
list(APPEND CMAKE_CXX_IMPLICIT_INCLUDE_DIRECTORIES ${LAZYRT_FOREIGN_INCLUDES})

# Devices with pages of 16 KB load nothing that is aligned to less.
if(ANDROID)
  add_link_options(-Wl,-z,max-page-size=16384)
endif()

# lazyrt_device_library(name sources...): C++17, no exceptions, no RTTI.
function(lazyrt_device_library name)
  add_library(${name} STATIC ${ARGN})
  target_compile_features(${name} PUBLIC cxx_std_17)
  # One object for each file: an application links only what it calls.
  set_target_properties(${name} PROPERTIES CXX_STANDARD 17 UNITY_BUILD OFF)
  # Sections of their own, so that --gc-sections leaves out what a program does not reach.
  target_compile_options(${name} PRIVATE ${LAZYRT_WARNINGS} -fno-exceptions -fno-rtti -ffunction-sections -fdata-sections)
  target_include_directories(${name} PUBLIC
    $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}> $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/runtime/include>
    $<BUILD_INTERFACE:${LAZYRT_GENERATED_DIR}>)
endfunction()

# lazyrt_host_library(name sources...): C++20 with exceptions.
function(lazyrt_host_library name)
  add_library(${name} STATIC ${ARGN})
  set_target_properties(${name} PROPERTIES CXX_STANDARD 20)
  target_compile_options(${name} PRIVATE ${LAZYRT_WARNINGS})
  target_include_directories(${name} PUBLIC ${PROJECT_SOURCE_DIR} ${PROJECT_SOURCE_DIR}/runtime/include
    ${LAZYRT_GENERATED_DIR})
endfunction()

# lazyrt_find_gtest(): the targets GTest::*, of this machine's package; for another processor of the package's sources.
function(lazyrt_find_gtest)
  if(NOT CMAKE_CROSSCOMPILING)
    find_package(GTest REQUIRED)
  elseif(NOT TARGET GTest::gtest)
    set(CMAKE_UNITY_BUILD OFF)
    set(CMAKE_CXX_STANDARD 17)
    add_subdirectory(/usr/src/googletest ${CMAKE_BINARY_DIR}/googletest EXCLUDE_FROM_ALL)
  endif()
endfunction()

# lazyrt_test_program(name SOURCES ... LIBS ...): a GoogleTest program.
function(lazyrt_test_program name)
  cmake_parse_arguments(T "" "" "SOURCES;LIBS" ${ARGN})
  lazyrt_find_gtest()
  add_executable(${name} ${T_SOURCES})
  set_target_properties(${name} PROPERTIES CXX_STANDARD 20)
  target_compile_options(${name} PRIVATE ${LAZYRT_WARNINGS} ${LAZYRT_TEST_OPTIONS})
  target_link_libraries(${name} PRIVATE ${T_LIBS} GTest::gmock GTest::gtest GTest::gtest_main)
endfunction()

# lazyrt_unit_test(name SOURCES ... LIBS ...): a test program, run by ctest case by case.
function(lazyrt_unit_test name)
  if(LAZYRT_TESTS AND NOT LAZYRT_BAREMETAL)
    include(GoogleTest)
    lazyrt_test_program(${name} ${ARGN})
    gtest_discover_tests(${name} DISCOVERY_TIMEOUT 60 PROPERTIES TIMEOUT 300)
  endif()
endfunction()
