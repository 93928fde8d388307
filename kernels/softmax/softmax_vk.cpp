// softmax and log_softmax of float32 on Vulkan.

#include "kernels/common/row_vk.h"

namespace lazyrt {

extern const Kernel softmax_vk;
extern const Shader softmax_shader, softmax_parts_shader;

namespace {

Fault supports(const NodeSpec& node) { return check_f32("softmax", node); }

/// The push block of softmax_parts.comp.
struct PartsPush {
  AxisPush rows;
  uint32_t parts, stores;
};

AxisPush push_of(const Shape& x, const OpAttrs& attrs) {
  return axis_push(x, attrs.as<fb::Softmax>().axis(), choose_row_form);
}
/// The largest element and the sum of each part.
uint64_t sums_bytes(const AxisPush& push, uint32_t parts) {
  return uint64_t{2} * sizeof(float) * push.form.rows * parts;
}

Fault prepare(const PrepareContext& context, PreparedKernel* prepared) {
  if (context.node.outputs[0].numel() == 0) return {};
  const AxisPush push = push_of(context.node.inputs[0].shape, context.node.attrs);
  const uint32_t parts = choose_row_parts(limits_of(context), push.form, push.extent);
  if (parts > 1) prepared->workspace_bytes = static_cast<size_t>(sums_bytes(push, parts));
  return {};
}

Fault record_parts(const RunContext& context, Span<const uint32_t> constants, const AxisPush& rows,
                   uint32_t parts) {
  Recorder& recorder = recorder_of(context);
  const TensorView& y = context.outputs[0];
  const uint64_t bytes = sums_bytes(rows, parts);
  PartsPush push = {rows, parts, 1};
  push.rows.form.rows *= parts;
  const VulkanGroups groups = row_groups(recorder, push.rows.form);
  // The first dispatch does not touch y.
  const VulkanOperand fold[] = {reads(context.inputs[0]), VulkanOperand{y.data, y.bytes()},
                                writes(context.workspace, bytes)};
  LAZYRT_RETURN_IF_ERROR(recorder.dispatch(softmax_parts_shader, constants, fold, push, groups));
  push.stores = 0;
  const VulkanOperand finish[] = {reads(context.inputs[0]), writes(y),
                                  reads(context.workspace, bytes)};
  return recorder.dispatch(softmax_parts_shader, constants, finish, push, groups);
}

Fault run(void*, const RunContext& context) {
  Recorder& recorder = recorder_of(context);
  const auto& a = context.attrs.as<fb::Softmax>();
  const TensorView& x = context.inputs[0];
  const TensorView& y = context.outputs[0];
  if (y.numel() == 0) return {};
  const AxisPush push = push_of(x.shape, context.attrs);
  const uint32_t constants[] = {a.log(), a.safe()};
  const uint32_t parts = choose_row_parts(recorder.limits(), push.form, push.extent);
  if (parts > 1) return record_parts(context, constants, push, parts);
  const VulkanOperand operands[] = {reads(x), writes(y)};
  return recorder.dispatch(softmax_shader, constants, operands, push,
                           row_groups(recorder, push.form));
}

}  // namespace

const Kernel softmax_vk = {supports, prepare, run, nullptr};

}  // namespace lazyrt
