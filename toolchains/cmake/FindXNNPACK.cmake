# XNNPACK and the three libraries it needs, from one prefix made by `toolchains/bootstrap`.
#
# Searched, in this order: XNNPACK_ROOT (variable or environment), CMAKE_PREFIX_PATH, the cache folder of the bootstrap
# (LAZYRT_CACHE, else ~/.cache/lazyrt). Nothing else is: a LibTorch in CMAKE_PREFIX_PATH carries a newer pthreadpool.h
# and cpuinfo.h, and a system package is of another version; headers and libraries are taken from one prefix or not at all.
#
# Targets: XNNPACK::XNNPACK (links the others), pthreadpool::pthreadpool, cpuinfo::cpuinfo
# Variables: XNNPACK_FOUND, XNNPACK_PREFIX (the prefix found)

include(FindPackageHandleStandardArgs)

function(_xnnpack_cached_prefixes out)
  set(cache "$ENV{LAZYRT_CACHE}")
  if(NOT cache)
    set(cache "$ENV{HOME}/.cache/lazyrt")
  endif()
  string(TOLOWER "${CMAKE_SYSTEM_NAME}-${CMAKE_SYSTEM_PROCESSOR}" platform)
  set(flavour "")
  if(LAZYRT_SANITIZE STREQUAL "thread")
    set(flavour "-tsan")
  endif()
  # The commit is pinned in dependencies.lock: a prefix of another version is not taken.
  file(STRINGS "${CMAKE_CURRENT_FUNCTION_LIST_DIR}/../dependencies.lock" line REGEX "^source +xnnpack ")
  string(REGEX REPLACE "^source +xnnpack +([0-9a-f]+).*" "\\1" commit "${line}")
  string(SUBSTRING "${commit}" 0 7 commit)
  file(GLOB prefixes LIST_DIRECTORIES true "${cache}/xnnpack-${commit}-${platform}${flavour}-[gc]*")
  set(${out} "${prefixes}" PARENT_SCOPE)
endfunction()

if(NOT XNNPACK_PREFIX OR NOT EXISTS "${XNNPACK_PREFIX}/include/xnnpack.h")
  unset(XNNPACK_PREFIX CACHE)
  _xnnpack_cached_prefixes(_xnnpack_cached)
  foreach(_prefix IN LISTS XNNPACK_ROOT ITEMS "$ENV{XNNPACK_ROOT}" LISTS CMAKE_PREFIX_PATH _xnnpack_cached)
    if(_prefix AND EXISTS "${_prefix}/include/xnnpack.h" AND EXISTS "${_prefix}/include/pthreadpool.h"
       AND EXISTS "${_prefix}/lib/libXNNPACK.a" AND NOT EXISTS "${_prefix}/include/torch")
      set(XNNPACK_PREFIX "${_prefix}" CACHE PATH "Prefix that holds XNNPACK, pthreadpool and cpuinfo")
      break()
    endif()
  endforeach()
endif()

foreach(_lib IN ITEMS XNNPACK microkernels-prod pthreadpool cpuinfo)
  if(XNNPACK_PREFIX AND EXISTS "${XNNPACK_PREFIX}/lib/lib${_lib}.a")
    set(XNNPACK_${_lib}_LIBRARY "${XNNPACK_PREFIX}/lib/lib${_lib}.a")
  else()
    set(XNNPACK_${_lib}_LIBRARY "XNNPACK_${_lib}_LIBRARY-NOTFOUND")
  endif()
endforeach()

find_package_handle_standard_args(
  XNNPACK
  REQUIRED_VARS XNNPACK_PREFIX XNNPACK_XNNPACK_LIBRARY XNNPACK_microkernels-prod_LIBRARY XNNPACK_pthreadpool_LIBRARY
                XNNPACK_cpuinfo_LIBRARY
  REASON_FAILURE_MESSAGE "run `toolchains/bootstrap deps --runtime` once, set XNNPACK_ROOT to a prefix that has it, or build without it: -DLAZYRT_XNNPACK=OFF")

if(XNNPACK_FOUND AND NOT TARGET XNNPACK::XNNPACK)
  set(THREADS_PREFER_PTHREAD_FLAG ON)
  find_package(Threads REQUIRED)
  foreach(_pair IN ITEMS cpuinfo::cpuinfo=cpuinfo pthreadpool::pthreadpool=pthreadpool
                         XNNPACK::microkernels=microkernels-prod XNNPACK::XNNPACK=XNNPACK)
    string(REPLACE "=" ";" _pair "${_pair}")
    list(GET _pair 0 _target)
    list(GET _pair 1 _lib)
    add_library(${_target} STATIC IMPORTED)
    set_target_properties(${_target} PROPERTIES IMPORTED_LOCATION "${XNNPACK_${_lib}_LIBRARY}"
                                                IMPORTED_LINK_INTERFACE_LANGUAGES "C;CXX")
    # BEFORE and not SYSTEM: our pthreadpool.h must win over one that another target brings along.
    target_include_directories(${_target} BEFORE INTERFACE "${XNNPACK_PREFIX}/include")
    set_target_properties(${_target} PROPERTIES IMPORTED_NO_SYSTEM TRUE)
  endforeach()
  target_link_libraries(pthreadpool::pthreadpool INTERFACE Threads::Threads)
  target_link_libraries(XNNPACK::microkernels INTERFACE m)
  target_link_libraries(XNNPACK::XNNPACK INTERFACE XNNPACK::microkernels pthreadpool::pthreadpool cpuinfo::cpuinfo m)
endif()
