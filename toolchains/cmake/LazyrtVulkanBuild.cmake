# Run by the build with -DFILES= (patterns) -DOUT= -DGLSLC=: a number for all that decides what the vulkan backend computes, its
# sources, the kernels' and the version of the shader compiler. runtime/backends/vulkan/cache.h uses no file of another build.
cmake_policy(VERSION 3.24)
file(GLOB_RECURSE files ${FILES})
execute_process(COMMAND ${GLSLC} --version OUTPUT_VARIABLE all)
foreach(file IN LISTS files)
  file(SHA256 ${file} hash)
  string(APPEND all "${hash}\n")
endforeach()
string(SHA256 hash "${all}")
string(SUBSTRING ${hash} 0 16 hash)
file(WRITE ${OUT} "// Written by LazyrtVulkanBuild.cmake.
#include \"runtime/backends/vulkan/cache.h\"
namespace lazyrt {
const uint64_t kVulkanBuild = 0x${hash};
}  // namespace lazyrt
")
