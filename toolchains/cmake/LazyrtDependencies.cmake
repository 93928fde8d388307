# What the build takes from outside: XNNPACK, the Python environment with LibTorch, sanitizers. Included by the top CMakeLists.

set(LAZYRT_SANITIZE "" CACHE STRING "Sanitizers for everything of ours: address,undefined or thread")
set(LAZYRT_FUZZ_SECONDS 30 CACHE STRING "How long ctest runs each fuzz target")
set(LAZYRT_PYTHON "" CACHE FILEPATH "Python that has torch, for the tests that export models; empty: the bootstrap's")

if(LAZYRT_SANITIZE)
  # vptr needs RTTI, which device code does not have.
  set(flags -fsanitize=${LAZYRT_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all)
  if(LAZYRT_SANITIZE MATCHES "undefined")
    list(APPEND flags -fno-sanitize=vptr)
  endif()
  add_compile_options(${flags})
  add_link_options(${flags})
  # g++ warns of what sanitizers' own checks make it see; the builds without them keep -Werror.
  list(REMOVE_ITEM LAZYRT_WARNINGS -Werror)
endif()
if(LAZYRT_FUZZ)
  if(NOT CMAKE_CXX_COMPILER_ID MATCHES "Clang")
    message(FATAL_ERROR "LAZYRT_FUZZ needs clang (libFuzzer): use the preset `asan-ubsan`")
  endif()
  add_compile_options(-fsanitize=fuzzer-no-link)
endif()

if(SKBUILD AND NOT LAZYRT_PYTHON)  # pip builds for the Python that runs it
  set(LAZYRT_PYTHON ${Python_EXECUTABLE} CACHE FILEPATH "" FORCE)
endif()
if(SKBUILD AND NOT LAZYRT_WERROR)  # a user's compiler may warn of what ours does not
  list(REMOVE_ITEM LAZYRT_WARNINGS -Werror)
endif()

# The cpu backend wants threads; machines without an operating system run the reference kernels.
set(LAZYRT_CPU_BACKEND ON)
if(LAZYRT_BAREMETAL)
  set(LAZYRT_CPU_BACKEND OFF)
endif()

# Sets LAZYRT_HAS_XNNPACK. Where it is absent our own kernels and thread pool run alone.
set(LAZYRT_XNNPACK ON CACHE STRING "ON: build with XNNPACK, or fail; OFF: without; AUTO: with it where it is found")
set_property(CACHE LAZYRT_XNNPACK PROPERTY STRINGS ON OFF AUTO)
set(LAZYRT_HAS_XNNPACK 0)
if(NOT LAZYRT_CPU_BACKEND)
  set(LAZYRT_XNNPACK OFF)
endif()
if(LAZYRT_XNNPACK STREQUAL "AUTO")
  find_package(XNNPACK)
elseif(LAZYRT_XNNPACK)
  find_package(XNNPACK REQUIRED)
endif()
if(LAZYRT_XNNPACK AND XNNPACK_FOUND)
  set(LAZYRT_HAS_XNNPACK 1)
endif()
if(LAZYRT_CPU_BACKEND AND NOT LAZYRT_HAS_XNNPACK)
  message(STATUS "Without XNNPACK: the cpu backend has our own kernels alone")
endif()

# lazyrt_use_bootstrap_python(): what `toolchains/bootstrap` installed, unless the caller named something else. The folder's
# name is made of the Python version and a hash of the pins, the same as in sh/python.sh.
function(lazyrt_use_bootstrap_python)
  set(cache "$ENV{LAZYRT_CACHE}")
  if(NOT cache)
    set(cache "$ENV{HOME}/.cache/lazyrt")
  endif()
  set(lock ${PROJECT_SOURCE_DIR}/toolchains/dependencies.lock)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${lock})
  file(STRINGS ${lock} pins REGEX "^python ")
  list(JOIN pins "\n" pins)
  string(SHA256 pins "${pins}\n")
  string(SUBSTRING ${pins} 0 8 pins)
  file(GLOB done "${cache}/venv-*-${pins}/.complete")
  if(done AND NOT LAZYRT_PYTHON)
    list(GET done 0 done)
    get_filename_component(venv ${done} DIRECTORY)
    set(LAZYRT_PYTHON ${venv}/bin/python CACHE FILEPATH "" FORCE)
  endif()
  if(LAZYRT_PYTHON AND NOT Torch_DIR)
    execute_process(COMMAND ${LAZYRT_PYTHON} -c
      "import importlib.util as u; print(u.find_spec('torch').submodule_search_locations[0])"
      OUTPUT_VARIABLE torch OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
    if(torch)
      set(Torch_DIR ${torch}/share/cmake/Torch CACHE PATH "Where TorchConfig.cmake is")
    endif()
  endif()
endfunction()

if(LAZYRT_HOST_TRACER)
  lazyrt_use_bootstrap_python()
endif()
