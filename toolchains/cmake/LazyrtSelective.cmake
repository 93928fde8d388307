# lazyrt_selective(TARGET model.lzb|model.ops ... [BACKENDS cpu|reference|vulkan ...])
#
# TARGET, a program or a static library that a program is made of, links lazyrt::runtime with those operators, functions and
# element types alone that these bundles use: their kernels are compiled once more, from what an install brings along, and
# lazyrt::default_ops() holds no others. Guards, states and variants are left out, too, where no bundle has any (in the tree: an
# install has no sources of them). A bundle that needs more is refused at load, and told the line to change. Bundles may be made
# by the build. One selection for each program.
#   model.ops  what `lazy-run --ops model.lzb` printed: for a build that cannot run lazy-run. Bundles are listed by
#              LAZYRT_OPS_TOOL (a lazy-run of the same version), else the lazy-run of this build or install, in
#              CMAKE_CROSSCOMPILING_EMULATOR if there is one, else one in PATH.
#   BACKENDS   the backends that the program uses; cpu and reference if not given. `reference` alone leaves out XNNPACK.
# The same file serves builds in the tree and find_package(lazyrt); these set the global properties LAZYRT_KERNEL_ROOT (the
# folder with kernels/), LAZYRT_PUBLIC_HEADERS (with lazyrt/) and LAZYRT_LAZY_RUN.

function(_lazyrt_ops_tool out)
  get_property(tool GLOBAL PROPERTY LAZYRT_LAZY_RUN)
  if(LAZYRT_OPS_TOOL)
    set(tool ${LAZYRT_OPS_TOOL})
  elseif(NOT CMAKE_CROSSCOMPILING OR CMAKE_CROSSCOMPILING_EMULATOR)
    set(tool ${CMAKE_CROSSCOMPILING_EMULATOR} ${tool})
  else()
    find_program(LAZYRT_HOST_LAZY_RUN lazy-run NO_CMAKE_FIND_ROOT_PATH)
    set(tool ${LAZYRT_HOST_LAZY_RUN})
  endif()
  set(${out} "${tool}" PARENT_SCOPE)
endfunction()

# "lazyrt_selective(app ...) in CMakeLists.txt:12", where the call can be found.
function(_lazyrt_call_place target out)
  file(RELATIVE_PATH place ${CMAKE_SOURCE_DIR} ${CMAKE_CURRENT_LIST_FILE})
  file(READ ${CMAKE_CURRENT_LIST_FILE} text)
  string(REGEX MATCH "^(.*\n)?[ \t]*lazyrt_selective[ \t]*\\([ \t\r\n]*${target}[ \t\r\n)]" head "${text}")
  if(head)
    string(REGEX REPLACE "lazyrt_selective[ \t]*\\([ \t\r\n]*${target}[ \t\r\n)]$" "" head "${head}")
    string(REGEX MATCHALL "\n" line "${head}")
    list(LENGTH line line)
    math(EXPR line "${line} + 1")
    string(APPEND place ":${line}")
  endif()
  set(${out} "lazyrt_selective(${target} ...) in ${place}" PARENT_SCOPE)
endfunction()

# The files that LazyrtKeep.cmake writes for these backends, and how they are compiled.
function(_lazyrt_kept_files root folder backends out)
  set(files ${folder}/registry.cpp ${folder}/absent_guards.cpp ${folder}/absent_states.cpp ${folder}/absent_variants.cpp)
  file(STRINGS ${root}/kernels/ops.inc lines REGEX "^LAZYRT_OP\\(")
  foreach(line IN LISTS lines)
    string(REGEX MATCH "LAZYRT_OP\\(([A-Za-z0-9]+), *([a-z0-9_]+), *([a-z0-9_]+)\\)" _ "${line}")
    set(stem ${root}/kernels/${CMAKE_MATCH_3}/${CMAKE_MATCH_2})
    list(APPEND files ${folder}/${CMAKE_MATCH_2}.cpp)
    if("vulkan" IN_LIST backends AND EXISTS ${stem}_vk.cpp)
      list(APPEND files ${folder}/${CMAKE_MATCH_2}_vk.cpp)
    endif()
    if(NOT "cpu" IN_LIST backends OR NOT EXISTS ${stem}_cpu.cpp)
      continue()
    endif()
    list(APPEND files ${folder}/${CMAKE_MATCH_2}_cpu.cpp)
    if(EXISTS ${stem}_rows_cpu.h)
      foreach(isa IN ITEMS baseline avx2 avx512)
        list(APPEND files ${folder}/${CMAKE_MATCH_2}_rows_${isa}.cpp)
      endforeach()
      lazyrt_for_isa(avx2 ${folder}/${CMAKE_MATCH_2}_rows_avx2.cpp)
      lazyrt_for_isa(avx512 ${folder}/${CMAKE_MATCH_2}_rows_avx512.cpp)
    endif()
  endforeach()
  set(${out} ${files} PARENT_SCOPE)
endfunction()

function(lazyrt_selective target)
  cmake_parse_arguments(S "" "" "BACKENDS" ${ARGN})
  if(NOT S_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "lazyrt_selective(${target}): name the bundles that it runs, or their lists")
  endif()
  foreach(backend IN LISTS S_BACKENDS)
    if(NOT backend MATCHES "^(cpu|reference|vulkan)$")
      message(FATAL_ERROR "lazyrt_selective(${target}): there is no backend '${backend}', there are cpu, reference and vulkan")
    endif()
  endforeach()
  get_property(has_vulkan GLOBAL PROPERTY LAZYRT_HAS_VULKAN)
  if("vulkan" IN_LIST S_BACKENDS AND NOT has_vulkan)
    message(FATAL_ERROR "lazyrt_selective(${target}): this LazyRT was built without Vulkan")
  endif()
  if(NOT S_BACKENDS)
    set(S_BACKENDS cpu reference)
  endif()
  get_property(root GLOBAL PROPERTY LAZYRT_KERNEL_ROOT)
  get_property(headers GLOBAL PROPERTY LAZYRT_PUBLIC_HEADERS)
  set(folder ${CMAKE_CURRENT_BINARY_DIR}/lazyrt_selective/${target})
  foreach(input IN LISTS S_UNPARSED_ARGUMENTS)
    get_filename_component(input ${input} ABSOLUTE)
    list(APPEND inputs ${input})
  endforeach()
  set(bundles ${inputs})
  list(FILTER bundles EXCLUDE REGEX "\\.ops$")
  set(tool)
  if(bundles)
    _lazyrt_ops_tool(tool)
    if(NOT tool)
      message(FATAL_ERROR "lazyrt_selective(${target}): no lazy-run runs on this machine. Set LAZYRT_OPS_TOOL to one, or name "
        "lists instead of bundles: lazy-run --ops model.lzb > model.ops")
    endif()
  endif()
  _lazyrt_call_place(${target} place)
  file(GENERATE OUTPUT ${folder}/selection.cmake CONTENT
"set(ROOT [[${root}]])
set(HEADERS [[${headers}]])
set(INPUTS [[${inputs}]])
set(TOOL [[${tool}]])
set(BACKENDS [[${S_BACKENDS}]])
set(SELECTION [[${place}]])
")
  _lazyrt_kept_files(${root} ${folder} "${S_BACKENDS}" files)
  set(script ${CMAKE_CURRENT_FUNCTION_LIST_DIR}/LazyrtKeep.cmake)
  set(needs ${inputs} ${folder}/selection.cmake ${script} ${root}/kernels/ops.inc)
  if(bundles AND TARGET lazy-run)
    list(APPEND needs lazy-run)
  endif()
  add_custom_command(OUTPUT ${folder}/stamp BYPRODUCTS ${files}
    COMMAND ${CMAKE_COMMAND} -DFOLDER=${folder} -P ${script}
    DEPENDS ${needs} VERBATIM COMMENT "Operators that ${target} keeps")
  add_custom_target(${target}_lazyrt_selection DEPENDS ${folder}/stamp)

  set(independent ON)
  if(CMAKE_SYSTEM_NAME STREQUAL "Generic")  # nothing is loaded elsewhere than it is linked
    set(independent OFF)
  endif()
  add_library(${target}_lazyrt_ops OBJECT ${files})
  add_dependencies(${target}_lazyrt_ops ${target}_lazyrt_selection)
  set_target_properties(${target}_lazyrt_ops PROPERTIES CXX_STANDARD 17 CXX_EXTENSIONS OFF UNITY_BUILD OFF
    POSITION_INDEPENDENT_CODE ${independent} CXX_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON)
  # As fast as the library's own, whatever the program is built for.
  target_compile_options(${target}_lazyrt_ops PRIVATE
    -fno-exceptions -fno-rtti -ffunction-sections -fdata-sections $<$<CONFIG:Debug>:-O2> $<$<CONFIG:>:-O2>)
  target_link_libraries(${target}_lazyrt_ops PRIVATE lazyrt::kernel_sources)
  # Objects go before all archives: the registry of lazyrt::runtime is not linked any more, and what it named is not either.
  target_sources(${target} PRIVATE $<TARGET_OBJECTS:${target}_lazyrt_ops>)
  target_link_libraries(${target} PRIVATE lazyrt::runtime)
  get_target_property(type ${target} TYPE)
  if(type STREQUAL "EXECUTABLE")
    target_link_options(${target} PRIVATE $<IF:$<PLATFORM_ID:Darwin,iOS>,-Wl$<COMMA>-dead_strip,-Wl$<COMMA>--gc-sections>)
  endif()
endfunction()
