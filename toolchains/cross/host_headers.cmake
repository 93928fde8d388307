# Of the machine that builds come tools and the headers of what has nothing to link (FlatBuffers, Highway, CLI11, json): through
# a folder that holds these alone, because the rest of /usr/include is another system's. For compilers that bring all else:
# zig, the NDK, Xcode.
set(LAZYRT_HOST_HEADERS ${CMAKE_BINARY_DIR}/host_headers)
file(MAKE_DIRECTORY ${LAZYRT_HOST_HEADERS})
foreach(name IN ITEMS flatbuffers hwy CLI nlohmann)
  foreach(root IN ITEMS /usr/include /usr/local/include /opt/homebrew/include)
    if(EXISTS ${root}/${name} AND NOT EXISTS ${LAZYRT_HOST_HEADERS}/${name})
      file(CREATE_LINK ${root}/${name} ${LAZYRT_HOST_HEADERS}/${name} SYMBOLIC)
    endif()
  endforeach()
endforeach()
set(CMAKE_CXX_STANDARD_INCLUDE_DIRECTORIES ${LAZYRT_HOST_HEADERS})
set(LAZYRT_FOREIGN_INCLUDES /usr/include /usr/local/include /opt/homebrew/include)
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE BOTH)
