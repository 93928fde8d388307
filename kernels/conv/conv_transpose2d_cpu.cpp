// XNNPACK's NHWC deconvolution with a fused clamp.

#include "kernels/common/check.h"
#include "runtime/backends/cpu/cpu_backend.h"
#include "runtime/backends/cpu/xnn_op.h"

namespace lazyrt {

extern const Kernel conv_transpose2d_cpu;

namespace {

constexpr uint64_t kOp = static_cast<uint64_t>(fb::OpAttrs::ConvTranspose2d);

const TensorSpec& bias_of(const NodeSpec& node) { return operand_or_absent(node.inputs, 2); }

Status refused(const char* why) { return Status(Error::kUnsupported, "conv_transpose2d: %s", why); }

Status supports(const NodeSpec& node) {
  const TensorSpec& weight = node.inputs[1];
  const TensorSpec& bias = bias_of(node);
  const auto& a = node.attrs.as<fb::ConvTranspose2d>();
  if (node.inputs[0].dtype != DType::kFloat32) return refused("only f32");
  if (weight.constant == nullptr || (bias.present() && bias.constant == nullptr)) {
    return refused("weight or bias is computed at run time");
  }
  if (weight.numel() == 0 || node.outputs[0].numel() == 0) return refused("empty operand");
  if (a.pad_top() < 0 || a.pad_left() < 0 || a.pad_bottom() < 0 || a.pad_right() < 0) {
    return refused("negative padding");
  }
  if (a.output_pad_h() >= a.stride_h() || a.output_pad_w() >= a.stride_w()) {
    return refused("output padding of a stride or more");
  }
  return a.min() <= a.max() ? Status() : refused("empty clamp");
}

PackingTag tag_of(const NodeSpec& node) {
  const auto& a = node.attrs.as<fb::ConvTranspose2d>();
  PackingTag tag = {kOp};
  tag.add(node.inputs[1].shape).add(a.groups()).add(a.stride_h()).add(a.stride_w());
  tag.add(a.pad_top()).add(a.pad_left()).add(a.pad_bottom()).add(a.pad_right());
  return tag.add(a.dilation_h()).add(a.dilation_w());
}

Status create(const PrepareContext& context, XnnState* state, size_t* packed_bytes) {
  const auto& a = context.node.attrs.as<fb::ConvTranspose2d>();
  const Shape& w = context.node.inputs[1].shape;
  const auto groups = static_cast<uint32_t>(a.groups());
  const auto in_channels = static_cast<size_t>(w[3]);
  const auto out_channels = static_cast<size_t>(w[0]) / groups;
  const auto u = [](int64_t v) { return static_cast<uint32_t>(v); };
  WeightStore::Packing packing(cpu_services(context).weights, tag_of(context.node));
  const enum xnn_status status = xnn_create_deconvolution2d_nhwc_f32(
      u(a.pad_top()), u(a.pad_right()), u(a.pad_bottom()), u(a.pad_left()), u(w[1]), u(w[2]),
      u(a.stride_h()), u(a.stride_w()), u(a.dilation_h()), u(a.dilation_w()), groups, in_channels,
      out_channels, in_channels * groups, out_channels * groups,
      static_cast<const float*>(context.node.inputs[1].constant),
      static_cast<const float*>(bias_of(context.node).constant), a.min(), a.max(), 0, nullptr,
      packing.cache(), &state->op);
  *packed_bytes = packing.new_bytes();
  return status_of_xnn("conv_transpose2d: create", status);
}

Status reshape(const PrepareContext& context, XnnState* state) {
  const auto& a = context.node.attrs.as<fb::ConvTranspose2d>();
  const Shape& x = context.node.inputs[0].shape;
  const Shape& y = context.node.outputs[0].shape;
  size_t height = 0, width = 0;
  LAZYRT_RETURN_IF_ERROR(status_of_xnn(
      "conv_transpose2d: reshape",
      xnn_reshape_deconvolution2d_nhwc_f32(
          state->op, static_cast<size_t>(x[0]), static_cast<size_t>(x[1]),
          static_cast<size_t>(x[2]), static_cast<uint32_t>(a.output_pad_h()),
          static_cast<uint32_t>(a.output_pad_w()), &height, &width, cpu_services(context).pool)));
  if (static_cast<int64_t>(height) != y[1] || static_cast<int64_t>(width) != y[2]) {
    return Status(Error::kInternal, "conv_transpose2d: XNNPACK makes %zux%zu of %s", height, width,
                  shape_text(y).text);
  }
  return {};
}

Status prepare(const PrepareContext& context, PreparedKernel* prepared) {
  auto* state = make_state<XnnState>(context.allocator);
  if (state == nullptr) return no_memory("conv_transpose2d");
  prepared->state = state;
  Status status = create(context, state, &prepared->packed_weight_bytes);
  if (status.ok()) status = reshape(context, state);
  return prepared_xnn(status, context.allocator, prepared);
}

Status run(void* state, const RunContext& context) {
  xnn_operator_t op = static_cast<XnnState*>(state)->op;
  if (context.rebind) {
    LAZYRT_RETURN_IF_ERROR(
        status_of_xnn("conv_transpose2d: setup",
                      xnn_setup_deconvolution2d_nhwc_f32(op, context.inputs[0].as<const float>(),
                                                         context.outputs[0].as<float>())));
  }
  return status_of_xnn("conv_transpose2d: run", xnn_run_operator(op, cpu_services(context).pool));
}

}  // namespace

const Kernel conv_transpose2d_cpu = {supports, prepare, run, release_xnn};

}  // namespace lazyrt
