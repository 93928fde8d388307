#pragma once

// Products of float matrices on Vulkan, as recorded by linear, matmul and pointwise convolutions.

#include <algorithm>
#include <limits>

#include "kernels/common/check.h"
#include "kernels/common/loops_vk.h"
#include "runtime/backends/vulkan/program.h"

namespace lazyrt {

extern const Shader gemm_shader, gemv_shader, gemm_sum_shader;

/// The push block of gemm_push.glsl.
struct GemmPush {
  static constexpr uint32_t kByDepth = 8;
  uint32_t batches = 1, rows = 0, columns = 0, depth = 0;
  uint32_t a_pitch = 0, b_pitch = 0, y_pitch = 0;
  uint32_t flags = 0;  ///< kByDepth if b is [columns, depth]; record_gemm adds the rest
  float low = -std::numeric_limits<float>::infinity();
  float high = std::numeric_limits<float>::infinity();
  uint32_t splits = 1;
  uint32_t extents[5] = {1, 1, 1, 1, 1};
  uint32_t a_steps[6] = {}, b_steps[6] = {};
};

/// The operands of y [rows, columns] = a [rows, depth] b [depth, columns] + bias.
struct GemmOperands {
  VulkanOperand a, b;
  VulkanOperand bias;  ///< has no address if there is none
  VulkanOperand y;
};
struct Gemm {
  GemmPush push;
  GemmOperands operands;
};

/// Specialisation constants 0 to 3 of shaders that include gemm.glsl.
struct GemmCut {
  uint32_t rows, columns, own_rows, own_quads;
  uint64_t count(uint64_t y_rows, uint64_t y_columns) const {
    return (y_rows + rows - 1) / rows * ((y_columns + columns - 1) / columns);
  }
  Span<const uint32_t> constants() const { return {&rows, 4}; }
};
constexpr GemmCut kSmallestTile = {32, 64, 4, 1};
/// For products of few columns, which would use half of the other tiles or less.
constexpr GemmCut kNarrowTile = {128, 32, 8, 1};
constexpr GemmCut kGemmTiles[] = {{128, 64, 8, 2}, {64, 64, 8, 1}, kSmallestTile, kNarrowTile};

/// gemv.comp computes products of at most this many rows.
constexpr uint32_t kGemvRows = 4;

/// Returns the largest tile that keeps the device busy, or else the smallest tile; for few columns
/// the narrow one.
inline const GemmCut& choose_gemm_tile(const VulkanLimits& limits, uint64_t rows, uint64_t columns,
                                       uint64_t batches) {
  if (columns <= kNarrowTile.columns && rows > kNarrowTile.rows / 2) return kNarrowTile;
  for (const GemmCut* tile : {&kGemmTiles[0], &kGemmTiles[1]}) {
    if (rows > tile->rows / 2 && tile->count(rows, columns) * batches >= limits.busy_groups)
      return *tile;
  }
  return kSmallestTile;
}

/// Returns into how many parts the depth is split, each summed by workgroups of its own; 1 if
/// `groups` workgroups are enough.
inline uint32_t choose_gemm_splits(const VulkanLimits& limits, uint64_t groups, uint64_t depth) {
  constexpr uint64_t kLeastDepth = 256, kMost = 16;
  const uint64_t wanted = limits.busy_groups / std::max<uint64_t>(groups, 1);
  return static_cast<uint32_t>(
      std::clamp<uint64_t>(std::min(wanted, depth / kLeastDepth), 1, kMost));
}
/// Returns the number of workgroups with the smallest tile.
inline uint64_t count_gemm_groups(uint64_t rows, uint64_t columns, uint64_t batches) {
  return batches * (rows <= kGemvRows ? (columns + 31) / 32 : kSmallestTile.count(rows, columns));
}

/// Returns at least `groups` workgroups, in two dimensions if one is too short; those at the end
/// have no work.
inline VulkanGroups spread_groups(const Recorder& recorder, uint64_t groups) {
  return recorder.linear(groups * kLinearGroup);
}

// Flags of gemm_operands.glsl besides GemmPush::kByDepth: the operands that are read and written
// four elements at a time, and whether there is a bias.
constexpr uint32_t kGemmQuadsA = 1, kGemmQuadsB = 2, kGemmQuadsY = 4, kGemmHasBias = 16;

/// Returns the flags of these operands. A pitch is the number of elements from row to row.
inline uint32_t gemm_flags(const GemmOperands& operands, uint32_t a_pitch, uint32_t b_pitch,
                           uint32_t y_pitch) {
  const auto in_quads = [](const VulkanOperand& operand, uint32_t pitch) {
    return pitch % 4 == 0 && reinterpret_cast<uintptr_t>(operand.address) % 16 == 0;
  };
  return (in_quads(operands.a, a_pitch) ? kGemmQuadsA : 0) |
         (in_quads(operands.b, b_pitch) ? kGemmQuadsB : 0) |
         (in_quads(operands.y, y_pitch) ? kGemmQuadsY : 0) |
         (operands.bias.address != nullptr ? kGemmHasBias : 0);
}
/// Lists the bindings. An operand that is absent or empty is not read, and y is bound in its place.
inline void list_gemm_operands(const GemmOperands& operands, VulkanOperand (&list)[4]) {
  const VulkanOperand all[] = {operands.a, operands.b, operands.bias};
  list[3] = operands.y;
  for (int i = 0; i < 3; ++i) {
    const bool is_there = all[i].address != nullptr && all[i].bytes != 0;
    list[i] = is_there ? all[i] : reads(operands.y.address, operands.y.bytes);
  }
}
inline bool steps_in_quads(const uint32_t (&steps)[6]) {
  for (const uint32_t step : steps) {
    if (step % 4 != 0) return false;
  }
  return true;
}

/// Returns the operands of the product itself. If the depth is split, its parts are written to the
/// workspace, without bias.
inline GemmOperands to_parts(const GemmOperands& gemm, uint32_t splits, void* workspace) {
  if (splits == 1) return gemm;
  return {gemm.a, gemm.b, {}, writes(workspace, splits * gemm.y.bytes)};
}
/// The push block of gemm_sum.comp.
struct GemmSumPush {
  uint32_t count, columns, splits, has_bias;
  float low, high;
};
/// Records the sum of the parts in the workspace, with bias and clamp.
inline Fault record_gemm_sum(Recorder& recorder, const GemmOperands& gemm, GemmSumPush push,
                             const void* workspace) {
  push.count = static_cast<uint32_t>(gemm.y.bytes / sizeof(float));
  push.has_bias = gemm.bias.address != nullptr;
  const VulkanOperand parts = reads(workspace, push.splits * gemm.y.bytes);
  const VulkanOperand operands[] = {parts, push.has_bias != 0 ? gemm.bias : parts, gemm.y};
  return recorder.dispatch(gemm_sum_shader, {}, operands, push, recorder.linear(push.count));
}

/// Records the product. `workspace` has gemm_workspace_bytes; if it is nullptr, the depth is not
/// split.
inline Fault record_gemm(Recorder& recorder, const Gemm& gemm, void* workspace = nullptr) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  GemmPush push = gemm.push;
  const uint64_t groups = count_gemm_groups(push.rows, push.columns, push.batches);
  if (workspace != nullptr) push.splits = choose_gemm_splits(recorder.limits(), groups, push.depth);
  if (push.splits > 1) push.low = -kInfinity, push.high = kInfinity;
  const GemmOperands parts = to_parts(gemm.operands, push.splits, workspace);
  push.y_pitch = push.columns;
  push.flags |= gemm_flags(parts, push.a_pitch | push.depth, push.b_pitch, push.columns);
  if (!steps_in_quads(push.a_steps)) push.flags &= ~kGemmQuadsA;
  if (!steps_in_quads(push.b_steps)) push.flags &= ~kGemmQuadsB;
  VulkanOperand operands[4];
  list_gemm_operands(parts, operands);
  if (push.rows <= kGemvRows) {
    const uint32_t constants[] = {push.rows == 1 ? 1 : kGemvRows};
    LAZYRT_RETURN_IF_ERROR(recorder.dispatch(gemv_shader, constants, operands, push,
                                             spread_groups(recorder, groups * push.splits)));
  } else {
    const GemmCut& tile =
        choose_gemm_tile(recorder.limits(), push.rows, push.columns, push.batches);
    const uint64_t tiles = push.batches * tile.count(push.rows, push.columns);
    LAZYRT_RETURN_IF_ERROR(recorder.dispatch(gemm_shader, tile.constants(), operands, push,
                                             spread_groups(recorder, tiles * push.splits)));
  }
  if (push.splits == 1) return {};
  const GemmSumPush sum = {0, push.columns, push.splits, 0, gemm.push.low, gemm.push.high};
  return record_gemm_sum(recorder, gemm.operands, sum, workspace);
}

/// Returns the bytes of workspace that record_gemm needs to split the depth.
inline size_t gemm_workspace_bytes(const PrepareContext& context, uint64_t groups, uint64_t depth) {
  const TensorSpec& y = context.node.outputs[0];
  const uint32_t splits = choose_gemm_splits(limits_of(context), groups, depth);
  return splits == 1 ? 0 : splits * y.bytes();
}

/// Makes all pipelines of products by `shader`, which includes gemm.glsl, so that new sizes need
/// no further ones.
inline Fault make_gemm_pipelines(const PrepareContext& context, const Shader& shader) {
  VulkanPipelines& pipelines = preparation_of(context).program.pipelines();
  VkPipeline made = VK_NULL_HANDLE;
  for (const GemmCut& tile : kGemmTiles)
    LAZYRT_RETURN_IF_ERROR(pipelines.find_or_make(shader, tile.constants(), &made));
  for (const uint32_t rows : {1U, kGemvRows}) {
    if (&shader != &gemm_shader) break;
    LAZYRT_RETURN_IF_ERROR(pipelines.find_or_make(gemv_shader, {&rows, 1}, &made));
  }
  return pipelines.find_or_make(gemm_sum_shader, {}, &made);
}

/// A constant [groups, columns, depth] that is packed as [groups, depth, columns], each row padded
/// with zeros to a multiple of four.
struct PackedMatrix {
  const float* from;
  size_t columns, depth, groups = 1;

  size_t pitch() const { return (columns + 3) / 4 * 4; }
  size_t bytes() const { return std::max<size_t>(groups * depth * pitch(), 4) * sizeof(float); }
};
inline void pack_transposed(const PackedMatrix& m, float* to) {
  constexpr size_t kBlock = 16;  // rows of `from` that are read side by side
  for (size_t g = 0; g < m.groups; ++g) {
    const float* from = m.from + g * m.columns * m.depth;
    for (size_t first = 0; first < m.pitch(); first += kBlock) {
      const size_t end = std::min(first + kBlock, m.pitch());
      for (size_t k = 0; k < m.depth; ++k) {
        for (size_t n = first; n < end; ++n)
          to[k * m.pitch() + n] = n < m.columns ? from[n * m.depth + k] : 0.0F;
      }
    }
    to += m.depth * m.pitch();
  }
}

/// Packs the constant once for a Program; *prepared gets the block's address as its state. Does
/// nothing if the constant is absent or empty, or if the block would be larger than what the
/// device binds.
inline Fault prepare_packed_matrix(const PrepareContext& context, size_t input,
                                   const PackedMatrix& matrix, PreparedKernel* prepared) {
  static constexpr char kPacker = 0;
  if (matrix.from == nullptr || matrix.groups * matrix.columns * matrix.depth == 0) return {};
  VulkanPreparation& preparation = preparation_of(context);
  const VulkanLimits& limits = preparation.program.device().limits();
  if (matrix.bytes() > limits.storage_range - limits.offset_alignment) return {};
  PackKey key;
  key.packer = &kPacker;
  key.sources[0] = matrix.from;
  key.numbers[0] = static_cast<int64_t>(matrix.columns);
  key.numbers[1] = static_cast<int64_t>(matrix.depth);
  key.numbers[2] = static_cast<int64_t>(matrix.groups);
  const auto fill = [](const void* of, void* to) {
    pack_transposed(*static_cast<const PackedMatrix*>(of), static_cast<float*>(to));
  };
  const void* packed = nullptr;
  LAZYRT_RETURN_IF_ERROR(
      preparation.program.store().find_or_pack(key, matrix.bytes(), fill, &matrix, &packed));
  preparation.packed_inputs |= 1U << input;
  prepared->state = const_cast<void*>(packed);
  prepared->packed_weight_bytes = matrix.bytes();
  return {};
}

}  // namespace lazyrt
