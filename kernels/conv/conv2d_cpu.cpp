// NHWC convolution with a fused clamp: by Winograd's method where that saves most of the
// multiplications, as a product of pixels or patches where ours is faster, else XNNPACK's.

#include "kernels/common/check.h"
#include "kernels/conv/patches_cpu.h"
#include "kernels/conv/winograd_cpu.h"
#include "runtime/backends/cpu/gemm_panels.h"
#include "runtime/backends/cpu/xnn_panels.h"

namespace lazyrt {

extern const Kernel conv2d_cpu;

namespace {

/// Operators, or what one of the other ways needs.
struct ConvState : XnnPanels {
  WinogradConv winograd;
  GemmPanels gemm;
  bool patches = false;  ///< of x are multiplied, not its pixels
};

const TensorSpec& bias_of(const NodeSpec& node) { return operand_or_absent(node.inputs, 2); }

Status supports(const NodeSpec& node) {
  const TensorSpec& x = node.inputs[0];
  const TensorSpec& weight = node.inputs[1];
  const TensorSpec& bias = bias_of(node);
  const auto& a = node.attrs.as<fb::Conv2d>();
  if (x.dtype != DType::kFloat32) return Status(Error::kUnsupported, "conv2d: only f32");
  if (weight.constant == nullptr || (bias.present() && bias.constant == nullptr)) {
    return Status(Error::kUnsupported, "conv2d: weight or bias is computed at run time");
  }
  if (x.numel() == 0 || weight.numel() == 0 || node.outputs[0].numel() == 0) {
    return Status(Error::kUnsupported, "conv2d: empty operand");
  }
  if (a.pad_top() < 0 || a.pad_left() < 0 || a.pad_bottom() < 0 || a.pad_right() < 0) {
    return Status(Error::kUnsupported, "conv2d: negative padding");
  }
  if (!(a.min() <= a.max())) return Status(Error::kUnsupported, "conv2d: empty clamp");
  return {};
}

bool slides_by_one(const fb::Conv2d& a) {
  return a.stride_h() == 1 && a.stride_w() == 1 && a.pad_top() == 0 && a.pad_left() == 0 &&
         a.pad_bottom() == 0 && a.pad_right() == 0;
}

Status prepare_panels(const PrepareContext& context, XnnPanels* panels, PreparedKernel* prepared) {
  const NodeSpec& node = context.node;
  const XnnConvolution whole = xnn_convolution_of(node, node.attrs.as<fb::Conv2d>());
  const auto of_a_channel =
      static_cast<size_t>(whole.kernel_h * whole.kernel_w * whole.group_inputs);
  // The channels of a group belong together: such convolutions are not cut.
  return create_panels(panels, whole.groups == 1 ? of_a_channel : 0,
                       static_cast<size_t>(whole.output_stride),
                       [&](size_t first, size_t channels, xnn_operator_t* op) {
                         XnnConvolution conv = whole;
                         conv.group_outputs = static_cast<int64_t>(channels) / whole.groups;
                         conv.filters += first * of_a_channel;
                         if (conv.bias != nullptr) conv.bias += first;
                         return prepare_xnn("conv2d", context, conv, op, prepared);
                       });
}

Status prepare_winograd(const PrepareContext& context, WinogradConv* conv,
                        PreparedKernel* prepared) {
  const CpuServices& cpu = cpu_services(context);
  const TensorSpec& weight = context.node.inputs[1];
  *conv = winograd_of(context.node, static_cast<size_t>(cpu.threads));
  PackingTag tag = {Packer::kWinograd};
  tag.add(weight.shape);
  WeightStore::Packing packing(cpu.weights, tag, weight.bytes(), cpu.memory);
  conv->filters =
      winograd_pack(*cpu.vector, *conv, static_cast<const float*>(weight.constant), &packing);
  if (conv->filters == nullptr) return no_memory("conv2d");
  prepared->packed_weight_bytes = packing.new_bytes();
  prepared->workspace_bytes = static_cast<size_t>(cpu.threads) * conv->scratch() * sizeof(float);
  return {};
}

/// Whether output pixels are products of the input pixels, in the same order. REQUIRES: one group.
bool is_product(const NodeSpec& node) {
  const auto& a = node.attrs.as<fb::Conv2d>();
  const Shape& w = node.inputs[1].shape;
  return w[1] == 1 && w[2] == 1 && slides_by_one(a);
}

size_t pixels_of(const Shape& y) { return static_cast<size_t>(y[0] * y[1] * y[2]); }

Status prepare_product(const PrepareContext& context, ConvState* state, PreparedKernel* prepared) {
  LAZYRT_RETURN_IF_ERROR(
      prepare_gemm("conv2d", context, bias_of(context.node), &state->gemm, prepared));
  state->patches = !is_product(context.node);
  if (state->patches) {
    const CpuServices& cpu = cpu_services(context);
    const size_t floats =
        patches_scratch(cpu, state->gemm, pixels_of(context.node.outputs[0].shape));
    prepared->workspace_bytes = static_cast<size_t>(cpu.threads) * floats * sizeof(float);
  }
  return {};
}

/// Whether it is a product that gains. Patches are copied by rows of the kernel: short rows cost
/// more than XNNPACK's gathering does.
bool product_pays(const VectorOps& vector, const NodeSpec& node) {
  constexpr int64_t kShortest = 16;
  const TensorSpec& weight = node.inputs[1];
  const Shape& w = weight.shape;
  const auto filters = static_cast<size_t>(w[0]);
  return node.attrs.as<fb::Conv2d>().groups() == 1 &&
         (is_product(node) || w[2] * w[3] >= kShortest) &&
         gemm_pays(vector, pixels_of(node.outputs[0].shape),
                   static_cast<size_t>(weight.numel()) / filters, filters);
}

Status prepare_best(const PrepareContext& context, ConvState* state, PreparedKernel* prepared) {
  const VectorOps& vector = *cpu_services(context).vector;
  const NodeSpec& node = context.node;
  if (vector.lanes > 1 && winograd_pays(node)) {
    return prepare_winograd(context, &state->winograd, prepared);
  }
  if (product_pays(vector, node)) return prepare_product(context, state, prepared);
  return prepare_panels(context, state, prepared);
}

Status prepare(const PrepareContext& context, PreparedKernel* prepared) {
  auto* state = make_state<ConvState>(context.allocator);
  if (state == nullptr) return no_memory("conv2d");
  prepared->state = state;
  return prepared_xnn(prepare_best(context, state, prepared), context.allocator, prepared,
                      release_panels);
}

void run_product(const ConvState& conv, const RunContext& context) {
  if (conv.patches) return PatchesRun(conv.gemm, context).run();
  const auto& a = context.attrs.as<fb::Conv2d>();
  run_gemm(context, conv.gemm, a.min(), a.max());
}

void run_winograd(const WinogradConv& conv, const RunContext& context) {
  const WinogradRun run(conv, context);
  parallel_items(cpu_services(context), run.blocks(),
                 [&](size_t thread, size_t block) { run.run_block(thread, block); });
}

Status run(void* state, const RunContext& context) {
  const auto& conv = *static_cast<ConvState*>(state);
  if (conv.winograd.filters != nullptr) return run_winograd(conv.winograd, context), Status();
  if (conv.gemm.packed != nullptr) return run_product(conv, context), Status();
  const XnnPanels& panels = conv;
  if (context.rebind) {
    LAZYRT_RETURN_IF_ERROR(for_each_panel(panels, [&](xnn_operator_t op, size_t first) {
      return setup_xnn_convolution("conv2d: setup", op, context.workspace,
                                   context.inputs[0].as<const float>(),
                                   context.outputs[0].as<float>() + first);
    }));
  }
  return run_panels("conv2d: run", panels, cpu_services(context));
}

}  // namespace

const Kernel conv2d_cpu = {supports, prepare, run, release_panels};

}  // namespace lazyrt
