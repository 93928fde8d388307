# configure(PRESET [NAME=VALUE]...): `cmake --preset` with these environment variables and no others of the SDKs; sets status
# and output.
function(configure preset)
  execute_process(
    COMMAND ${CMAKE_COMMAND} -E env --unset=ANDROID_NDK_ROOT --unset=ANDROID_NDK_HOME ${ARGN}
            ${CMAKE_COMMAND} --preset ${preset} -B ${WORK}/${preset}
    WORKING_DIRECTORY ${ROOT} RESULT_VARIABLE status OUTPUT_VARIABLE output ERROR_VARIABLE output)
  set(status "${status}" PARENT_SCOPE)
  set(output "${output}" PARENT_SCOPE)
endfunction()

# expect(TEXT REGEX): TEXT, with blanks in place of ends of lines, matches.
function(expect text regex)
  string(REGEX REPLACE "[ \n]+" " " text "${text}")
  if(NOT text MATCHES "${regex}")
    message(FATAL_ERROR "'${regex}' is not in:\n${text}")
  endif()
endfunction()
