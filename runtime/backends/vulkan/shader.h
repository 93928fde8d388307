#pragma once

#include <cstddef>
#include <cstdint>

namespace lazyrt {

/// A compute shader as SPIR-V. CMake makes `x_shader` of x.comp.
struct Shader {
  const char* name = "";
  const uint32_t* code = nullptr;
  size_t bytes = 0;
};

}  // namespace lazyrt
