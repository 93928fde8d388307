// Batch norm with the running statistics. Constant parameters are folded on the host, once for a
// Program; parameters that are computed at run time on the device, in the workspace.

#include <cmath>
#include <cstring>

#include "kernels/common/loops_vk.h"
#include "runtime/backends/vulkan/program.h"

namespace lazyrt {

extern const Kernel batch_norm_vk;
extern const Shader batch_norm_shader, batch_norm_scale_shader, fill_shader;

namespace {

enum Operand { kX, kWeight, kBias, kMean, kVariance, kOperands };

Fault supports(const NodeSpec& node) { return check_f32("batch_norm", node); }

bool all_constant(const NodeSpec& node) {
  for (size_t i = kWeight; i < kOperands; ++i) {
    if (node.inputs[i].present() && node.inputs[i].constant == nullptr) return false;
  }
  return true;
}

void fold(const void* context, void* to) {
  const auto& node = *static_cast<const NodeSpec*>(context);
  const auto constant = [&](Operand i) {
    return static_cast<const float*>(node.inputs[i].constant);
  };
  const auto channels = static_cast<size_t>(node.inputs[kMean].numel());
  auto* mean = static_cast<float*>(to);
  float* shift = mean + channels;
  float* scale = shift + channels;
  for (size_t c = 0; c < channels; ++c) {
    const double weight = constant(kWeight) == nullptr ? 1.0 : double{constant(kWeight)[c]};
    const double variance = constant(kVariance)[c];
    mean[c] = constant(kMean)[c];
    shift[c] = constant(kBias) == nullptr ? 0 : constant(kBias)[c];
    scale[c] =
        static_cast<float>(weight / std::sqrt(variance + node.attrs.as<fb::BatchNorm>().epsilon()));
  }
}

Fault prepare(const PrepareContext& context, PreparedKernel* prepared) {
  static constexpr char kPacker = 0;
  const NodeSpec& node = context.node;
  const uint64_t bytes = 3 * node.inputs[kMean].bytes();
  if (!all_constant(node) || bytes == 0) {
    prepared->workspace_bytes = static_cast<size_t>(bytes);
    return {};
  }
  VulkanPreparation& preparation = preparation_of(context);
  PackKey key;
  key.packer = &kPacker;
  for (size_t i = kWeight; i < kOperands; ++i) {
    key.sources[i] = node.inputs[i].constant;
    preparation.packed_inputs |= 1U << i;
  }
  const double epsilon = node.attrs.as<fb::BatchNorm>().epsilon();
  std::memcpy(key.numbers, &epsilon, sizeof(epsilon));
  key.numbers[1] = node.inputs[kMean].numel();
  const void* packed = nullptr;
  LAZYRT_RETURN_IF_ERROR(
      preparation.program.store().find_or_pack(key, bytes, fold, &node, &packed));
  prepared->packed_weight_bytes = static_cast<size_t>(bytes);
  prepared->state = const_cast<void*>(packed);
  return {};
}

struct ScalePush {
  uint32_t channels;
  float epsilon;
  uint32_t has_weight;
};
struct FillPush {
  uint32_t words, even, odd;
};

/// Records the computation of means, shifts and scales into `to`.
Fault record_parameters(Recorder& recorder, const RunContext& context, uint8_t* to) {
  const TensorView& weight = context.inputs[kWeight];
  const TensorView& bias = context.inputs[kBias];
  const TensorView& mean = context.inputs[kMean];
  const TensorView& variance = context.inputs[kVariance];
  const auto channels = static_cast<uint32_t>(mean.numel());
  const size_t bytes = mean.bytes();
  LAZYRT_RETURN_IF_ERROR(recorder.copy(to, mean.data, bytes));
  if (bias.present()) {
    LAZYRT_RETURN_IF_ERROR(recorder.copy(to + bytes, bias.data, bytes));
  } else {
    const VulkanOperand shift[] = {writes(to + bytes, bytes)};
    LAZYRT_RETURN_IF_ERROR(recorder.dispatch(fill_shader, {}, shift, FillPush{channels, 0, 0},
                                             recorder.linear(quads(channels))));
  }
  const VulkanOperand operands[] = {reads(variance), reads(weight.present() ? weight : variance),
                                    writes(to + 2 * bytes, bytes)};
  const auto epsilon = static_cast<float>(context.attrs.as<fb::BatchNorm>().epsilon());
  return recorder.dispatch(batch_norm_scale_shader, {}, operands,
                           ScalePush{channels, epsilon, weight.present()},
                           recorder.linear(quads(channels)));
}

struct Push {
  uint32_t count;
  uint32_t channels;
  uint32_t inner;
};

Fault run(void* packed, const RunContext& context) {
  Recorder& recorder = recorder_of(context);
  const TensorView& x = context.inputs[kX];
  const TensorView& y = context.outputs[0];
  if (y.numel() == 0) return {};
  if (packed == nullptr) {
    packed = context.workspace;
    LAZYRT_RETURN_IF_ERROR(record_parameters(recorder, context, static_cast<uint8_t*>(packed)));
  }
  const AxisView v = axis_view(x.shape, context.attrs.as<fb::BatchNorm>().channel_axis());
  const Push push = {static_cast<uint32_t>(y.numel()), static_cast<uint32_t>(v.extent),
                     static_cast<uint32_t>(v.inner)};
  const VulkanOperand operands[] = {reads(x), reads(packed, static_cast<uint64_t>(v.extent) * 12),
                                    writes(y)};
  return recorder.dispatch(batch_norm_shader, {}, operands, push,
                           recorder.linear(quads(y.numel())));
}

}  // namespace

const Kernel batch_norm_vk = {supports, prepare, run, nullptr};

}  // namespace lazyrt
