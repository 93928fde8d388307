# lazyrt_for_isa(avx2|avx512 sources...): these are compiled for that instruction set, on processors of this kind. Loops begin
# where a cache line does: where the linker put them, those of gemm lost a tenth of their speed.
function(lazyrt_for_isa isa)
  if(NOT CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
    return()
  endif()
  set(options -O3 -falign-loops=64 -mavx2 -mfma -mf16c -mbmi -mbmi2 -mlzcnt -maes -mpclmul)
  if(isa STREQUAL "avx512")
    list(APPEND options -mavx512f -mavx512bw -mavx512dq -mavx512vl -mavx512cd -mprefer-vector-width=512)
  endif()
  set_source_files_properties(${ARGN} PROPERTIES COMPILE_OPTIONS "${options}" SKIP_PRECOMPILE_HEADERS ON)
endfunction()
