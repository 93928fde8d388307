// Sum, mean, product, extremes, any and all on Vulkan.

#include "kernels/common/check.h"
#include "kernels/common/row_vk.h"

namespace lazyrt {

extern const Kernel reduce_vk;
extern const Shader reduce_f32_shader, reduce_i32_shader, reduce_i64_shader;

namespace {

Fault supports(const NodeSpec& node) { return check_shader_type("reduce", node); }

/// Dims, the innermost first, with neighbours merged if they are walked as one. Of 8 dims, at most
/// 4 kept ones and at most 4 folded ones remain unmerged.
struct Dims {
  uint32_t extents[4] = {1, 1, 1, 1};
  uint32_t steps[4] = {};

  void add(int64_t extent, int64_t step) {
    int d = 0;
    while (d < 4 && steps[d] != 0) ++d;
    const bool merges = d > 0 && steps[d - 1] * extents[d - 1] == step;
    if (!merges) steps[d++] = static_cast<uint32_t>(step);
    extents[d - 1] *= static_cast<uint32_t>(extent);
  }
};
struct Push {
  RowForm form;
  uint32_t extent, parts, divisor;
  Dims kept, folded;
};

Push push_of(const Shape& x, uint32_t axes) {
  const Strides strides = row_major(x);
  Push push = {};
  int64_t extent = 1, rows = 1;
  for (int i = x.rank() - 1; i >= 0; --i) {
    const bool folds = (axes >> i & 1) != 0;
    (folds ? extent : rows) *= x[i];
    if (x[i] > 1) (folds ? push.folded : push.kept).add(x[i], strides[i]);
  }
  push.extent = push.divisor = static_cast<uint32_t>(extent);
  push.parts = 1;
  push.form = choose_row_form(extent, push.kept.steps[0] == 1 ? push.kept.extents[0] : 1, rows);
  return push;
}

/// Folds the parts of each result; x holds the parts of all results one after another.
Push push_of_parts(uint32_t rows, uint32_t parts, uint32_t divisor) {
  Push push = {choose_row_form(parts, rows, rows), parts, 1, divisor, {}, {}};
  if (rows > 1) push.kept.add(rows, 1);
  push.folded.add(parts, rows);
  return push;
}

/// Parts have the type of the results, which the fold of parts reads: any and all of numbers are
/// not divided into parts.
uint32_t choose_parts(const VulkanLimits& limits, const Push& push, DType x, DType y) {
  return x == y ? choose_row_parts(limits, push.form, push.extent) : 1;
}

Fault prepare(const PrepareContext& context, PreparedKernel* prepared) {
  const TensorSpec& x = context.node.inputs[0];
  const TensorSpec& y = context.node.outputs[0];
  if (y.numel() == 0) return {};
  uint32_t axes = 0;
  LAZYRT_RETURN_IF_ERROR(
      read_axes("reduce", context.node.attrs.as<fb::Reduce>().axes(), x.shape.rank(), &axes));
  const uint32_t parts = choose_parts(limits_of(context), push_of(x.shape, axes), x.dtype, y.dtype);
  if (parts > 1) prepared->workspace_bytes = parts * y.bytes();
  return {};
}

Fault run(void*, const RunContext& context) {
  Recorder& recorder = recorder_of(context);
  const auto& a = context.attrs.as<fb::Reduce>();
  const TensorView& x = context.inputs[0];
  const TensorView& y = context.outputs[0];
  if (y.numel() == 0) return {};
  uint32_t axes = 0;
  LAZYRT_RETURN_IF_ERROR(read_axes("reduce", a.axes(), x.shape.rank(), &axes));
  const Shader& shader =
      shader_of(x.dtype, reduce_f32_shader, reduce_i32_shader, reduce_i64_shader);
  const uint32_t constants[] = {static_cast<uint32_t>(a.fn()), static_cast<uint32_t>(x.dtype)};
  Push push = push_of(x.shape, axes);
  VulkanOperand operands[] = {reads(x.numel() != 0 ? x : y), writes(y)};
  if (const uint32_t parts = choose_parts(recorder.limits(), push, x.dtype, y.dtype); parts > 1) {
    const VulkanOperand cut[] = {operands[0], writes(context.workspace, parts * y.bytes())};
    const uint32_t rows = push.form.rows, divisor = push.divisor;
    push.form.rows *= parts;
    push.parts = parts;
    push.divisor = 1;
    LAZYRT_RETURN_IF_ERROR(
        recorder.dispatch(shader, constants, cut, push, row_groups(recorder, push.form)));
    push = push_of_parts(rows, parts, divisor);
    operands[0] = reads(context.workspace, parts * y.bytes());
  }
  return recorder.dispatch(shader, constants, operands, push, row_groups(recorder, push.form));
}

}  // namespace

const Kernel reduce_vk = {supports, prepare, run, nullptr};

}  // namespace lazyrt
