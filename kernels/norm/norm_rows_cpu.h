#pragma once

// The norms over trailing dims of float32, row by row on all threads.

#include "kernels/common/check.h"
#include "runtime/backends/cpu/cpu_backend.h"

namespace lazyrt {

inline Fault supports_row_norm(Word op, const NodeSpec& node) {
  if (node.inputs[0].dtype == DType::kFloat32) return {};
  return Fault(Error::kUnsupported, "%s: only f32", op);
}

/// Operand i as floats, nullptr where it is absent.
inline const float* floats_or_null(const RunContext& context, size_t i) {
  const TensorView t = operand_or_absent(context.inputs, i);
  return t.present() ? t.as<const float>() : nullptr;
}

/// Calls normalize(x, y, count) for each row, the last `normalized_rank` dims.
template <class Normalize>
Fault for_each_row(const RunContext& context, int normalized_rank, Normalize normalize) {
  const TensorView& x = context.inputs[0];
  if (x.numel() == 0) return {};
  size_t count = 1;
  for (int i = 0; i < normalized_rank; ++i) count *= static_cast<size_t>(x.shape.back(i));
  const float* in = x.as<const float>();
  float* out = context.outputs[0].as<float>();
  constexpr size_t kCost = 3;
  parallel_for(cpu_services(context), static_cast<size_t>(x.numel()) / count,
               grain_of(kCost * count), [&](size_t begin, size_t end) {
                 for (size_t i = begin; i < end; ++i) {
                   normalize(in + i * count, out + i * count, count);
                 }
               });
  return {};
}

}  // namespace lazyrt
