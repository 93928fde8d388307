#pragma once

// How operators whose shaders fold rows (shaders/row.glsl) are recorded.

#include <algorithm>

#include "kernels/common/loops_vk.h"
#include "runtime/backends/vulkan/program.h"

namespace lazyrt {

/// The first members of their push blocks.
struct RowForm {
  uint32_t rows;
  uint32_t lanes_log2;  ///< log2 of how many of a workgroup's 128 invocations share a row
  uint32_t columns;     ///< 1 if neighbouring rows lie side by side in memory
};

/// Returns the form of `rows` rows of `extent` elements, of which `inner` lie side by side in
/// memory.
inline RowForm choose_row_form(int64_t extent, int64_t inner, int64_t rows) {
  uint32_t log2 = extent > 256 ? 7 : extent > 16 ? 5 : 2;
  if (inner >= 16) log2 = extent >= 512 ? 4 : extent >= 16 ? 2 : 0;
  return {static_cast<uint32_t>(rows), log2, inner >= 16};
}

/// The push block of axis_row.glsl: rows along one axis.
struct AxisPush {
  RowForm form;
  uint32_t extent;
  uint32_t inner;
};
inline AxisPush axis_push(const Shape& shape, int axis,
                          RowForm (*choose)(int64_t extent, int64_t inner, int64_t rows)) {
  const AxisView v = axis_view(shape, axis);
  return {choose(v.extent, v.inner, v.outer * v.inner), static_cast<uint32_t>(v.extent),
          static_cast<uint32_t>(v.inner)};
}

/// Returns into how many parts long rows are cut, each folded by lanes of its own, where the rows
/// are too few to keep a device busy.
inline uint32_t choose_row_parts(const VulkanLimits& limits, const RowForm& form, uint64_t extent) {
  constexpr uint64_t kLeast = 128;  // elements for a lane
  const uint64_t in_group = uint64_t{128} >> form.lanes_log2;
  const uint64_t groups = std::max<uint64_t>((form.rows + in_group - 1) / in_group, 1);
  const uint64_t most = extent / (kLeast << form.lanes_log2);
  return static_cast<uint32_t>(std::max<uint64_t>(std::min(limits.busy_groups / groups, most), 1));
}

/// Returns the workgroups for all rows, in two dimensions if one is too short.
inline VulkanGroups row_groups(const Recorder& recorder, const RowForm& form) {
  const uint64_t in_group = uint64_t{128} >> form.lanes_log2;
  return recorder.linear((form.rows + in_group - 1) / in_group * kLinearGroup);
}

}  // namespace lazyrt
