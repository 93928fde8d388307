#pragma once

// Loops over the elements of a result as shaders walk them, and the types that shaders compute on.

#include "kernels/common/strides.h"
#include "runtime/backends/vulkan/recorder.h"

namespace lazyrt {

/// Part of push blocks: the extents of the merged dims and, for each operand, its steps in
/// elements. REQUIRES: `merged` has at most Rank dims.
template <int Rank, int N>
struct ShaderLoops {
  uint32_t rank = 1;
  uint32_t extents[Rank] = {1};
  uint32_t strides[N][Rank] = {};

  explicit ShaderLoops(const LoopNest<N>& merged) {
    for (int d = 0; d < merged.rank(); ++d) {
      extents[d] = static_cast<uint32_t>(merged.extent(d));
      for (int n = 0; n < N; ++n) strides[n][d] = static_cast<uint32_t>(merged.stride(n, d));
    }
    if (merged.rank() > 1) rank = static_cast<uint32_t>(merged.rank());
  }
};

/// The shader that computes on elements of a type.
enum class ShaderType { kF32, kI32, kI64, kNone };
constexpr ShaderType shader_type(DType type) {
  switch (type) {
    case DType::kFloat32:
      return ShaderType::kF32;
    case DType::kInt64:
      return ShaderType::kI64;
    case DType::kInt32:
    case DType::kInt16:
    case DType::kInt8:
    case DType::kUInt8:
    case DType::kBool:
      return ShaderType::kI32;
    default:
      return ShaderType::kNone;
  }
}
inline const Shader& shader_of(DType type, const Shader& f32, const Shader& i32,
                               const Shader& i64) {
  const ShaderType kind = shader_type(type);
  return kind == ShaderType::kF32 ? f32 : kind == ShaderType::kI32 ? i32 : i64;
}

inline Fault no_shader(const char* what, DType type) {
  return Fault(Error::kUnsupported, "%s of %s has no shader", what, dtype_name(type));
}

/// For `supports` of an operator whose shaders compute on f32 only.
inline Fault check_f32(const char* op, const NodeSpec& node) {
  const DType type = node.inputs[0].dtype;
  return type == DType::kFloat32 ? Fault() : no_shader(op, type);
}
/// For `supports` of an operator that has a shader for each ShaderType.
inline Fault check_shader_type(const char* op, const NodeSpec& node) {
  const DType type = node.inputs[0].dtype;
  return shader_type(type) == ShaderType::kNone ? no_shader(op, type) : Fault();
}

/// A type of the same size; shaders that only move elements do not need the type itself.
constexpr uint32_t moved_type(DType type) {
  switch (dtype_size(type)) {
    case 1:
      return static_cast<uint32_t>(DType::kUInt8);
    case 2:
      return static_cast<uint32_t>(DType::kInt16);
    case 4:
      return static_cast<uint32_t>(DType::kInt32);
    default:
      return static_cast<uint32_t>(DType::kInt64);
  }
}

/// The number of invocations of a shader in which each invocation computes four elements.
inline uint64_t quads(int64_t count) { return (static_cast<uint64_t>(count) + 3) / 4; }
/// The number of invocations of a shader in which each invocation computes four channels of a pixel
/// (channels.glsl). REQUIRES: y, with the channels last, has elements.
inline uint32_t channel_quads(const Shape& y) {
  return static_cast<uint32_t>(y.numel() / y.back(0)) * static_cast<uint32_t>(quads(y.back(0)));
}

}  // namespace lazyrt
