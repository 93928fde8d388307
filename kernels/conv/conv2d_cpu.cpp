// NHWC convolution with a fused clamp: by Winograd's method if that saves most of the
// multiplications, as a product of pixels or patches if our product is faster, else by XNNPACK.
// Without XNNPACK, the reference backend runs grouped convolutions.

#include "kernels/common/check.h"
#include "kernels/conv/patches_cpu.h"
#include "kernels/conv/winograd_cpu.h"
#include "runtime/backends/cpu/gemm_panels.h"
#if LAZYRT_HAS_XNNPACK
#include "runtime/backends/cpu/xnn_panels.h"
#endif

namespace lazyrt {

extern const Kernel conv2d_cpu;

namespace {

/// A product of pixels of x, or of patches.
struct ProductState {
  GemmPanels gemm;
};

const TensorSpec& bias_of(const NodeSpec& node) { return operand_or_absent(node.inputs, 2); }

Fault supports(const NodeSpec& node) {
  const TensorSpec& x = node.inputs[0];
  const TensorSpec& weight = node.inputs[1];
  const TensorSpec& bias = bias_of(node);
  const auto& a = node.attrs.as<fb::Conv2d>();
  if (x.dtype != DType::kFloat32) return Fault(Error::kUnsupported, "conv2d: only f32");
  if (weight.constant == nullptr || (bias.present() && bias.constant == nullptr)) {
    return Fault(Error::kUnsupported, "conv2d: weight or bias is computed at run time");
  }
  if (x.numel() == 0 || weight.numel() == 0 || node.outputs[0].numel() == 0) {
    return Fault(Error::kUnsupported, "conv2d: empty operand");
  }
  if (a.pad_top() < 0 || a.pad_left() < 0 || a.pad_bottom() < 0 || a.pad_right() < 0) {
    return Fault(Error::kUnsupported, "conv2d: negative padding");
  }
  if (!(a.min() <= a.max())) return Fault(Error::kUnsupported, "conv2d: empty clamp");
  return {};
}

/// Winograd's method saves most of the multiplications.
Fault takes_winograd(const NodeSpec& node) {
  return takes(vector_ops().lanes > 1 && winograd_pays(node), "winograd");
}

Fault prepare_winograd(const PrepareContext& context, PreparedKernel* prepared) {
  const CpuServices& cpu = cpu_services(context);
  const TensorSpec& weight = context.node.inputs[1];
  auto* conv = make_state<WinogradConv>(context.allocator);
  if (conv == nullptr) return no_memory("conv2d");
  *conv = winograd_of(context.node, static_cast<size_t>(cpu.threads));
  PackingTag tag = {Packer::kWinograd};
  tag.add(weight.shape);
  WeightStore::Packing packing(cpu.weights, tag, weight.bytes(), cpu.memory);
  conv->filters =
      winograd_pack(*cpu.vector, *conv, static_cast<const float*>(weight.constant), &packing);
  if (conv->filters == nullptr) return release_state(conv, context.allocator), no_memory("conv2d");
  prepared->state = conv;
  prepared->packed_weight_bytes = packing.new_bytes();
  prepared->workspace_bytes = static_cast<size_t>(cpu.threads) * conv->scratch() * sizeof(float);
  return {};
}

Fault run_winograd(void* state, const RunContext& context) {
  const WinogradRun run(*static_cast<WinogradConv*>(state), context);
  parallel_items(cpu_services(context), run.blocks(),
                 [&](size_t thread, size_t block) { run.run_block(thread, block); });
  return {};
}

bool slides_by_one(const fb::Conv2d& a) {
  return a.stride_h() == 1 && a.stride_w() == 1 && a.pad_top() == 0 && a.pad_left() == 0 &&
         a.pad_bottom() == 0 && a.pad_right() == 0;
}

/// Whether output pixels are products of the input pixels, in the same order. REQUIRES: one group.
bool is_product(const NodeSpec& node) {
  const Shape& w = node.inputs[1].shape;
  return w[1] == 1 && w[2] == 1 && slides_by_one(node.attrs.as<fb::Conv2d>());
}

size_t pixels_of(const Shape& y) { return static_cast<size_t>(y[0] * y[1] * y[2]); }

/// Whether the convolution is a product, of pixels or patches, that our gemm computes faster.
bool product_pays(const NodeSpec& node) {
  const TensorSpec& weight = node.inputs[1];
  const auto filters = static_cast<size_t>(weight.shape[0]);
  return node.attrs.as<fb::Conv2d>().groups() == 1 &&
         gemm_pays(vector_ops(), pixels_of(node.outputs[0].shape),
                   static_cast<size_t>(weight.numel()) / filters, filters);
}

Fault takes_pixels(const NodeSpec& node) {
  return takes(product_pays(node) && is_product(node), "a product of pixels");
}

Fault prepare_pixels(const PrepareContext& context, PreparedKernel* prepared) {
  auto* state = make_state<ProductState>(context.allocator);
  if (state == nullptr) return no_memory("conv2d");
  prepared->state = state;
  return prepared_or_released(
      prepare_gemm("conv2d", context, bias_of(context.node), &state->gemm, prepared),
      context.allocator, prepared, release_state);
}

Fault run_pixels(void* state, const RunContext& context) {
  const auto& a = context.attrs.as<fb::Conv2d>();
  run_gemm(context, static_cast<ProductState*>(state)->gemm, a.min(), a.max());
  return {};
}

/// Patches are copied by rows of the kernel: short rows cost more than XNNPACK's gathering does.
Fault takes_patches(const NodeSpec& node) {
  constexpr int64_t kShortest = LAZYRT_HAS_XNNPACK ? 16 : 1;
  const Shape& w = node.inputs[1].shape;
  return takes(product_pays(node) && w[2] * w[3] >= kShortest, "a product of patches");
}

Fault prepare_patches(const PrepareContext& context, PreparedKernel* prepared) {
  LAZYRT_RETURN_IF_ERROR(prepare_pixels(context, prepared));
  const CpuServices& cpu = cpu_services(context);
  const GemmPanels& gemm = static_cast<ProductState*>(prepared->state)->gemm;
  const size_t floats = patches_scratch(cpu, gemm, pixels_of(context.node.outputs[0].shape));
  prepared->workspace_bytes = static_cast<size_t>(cpu.threads) * floats * sizeof(float);
  return {};
}

Fault run_patches(void* state, const RunContext& context) {
  PatchesRun(static_cast<ProductState*>(state)->gemm, context).run();
  return {};
}

#if LAZYRT_HAS_XNNPACK
Fault create_operators(const PrepareContext& context, XnnPanels* panels, PreparedKernel* prepared) {
  const NodeSpec& node = context.node;
  const XnnConvolution whole = xnn_convolution_of(node, node.attrs.as<fb::Conv2d>());
  const auto of_a_channel =
      static_cast<size_t>(whole.kernel_h * whole.kernel_w * whole.group_inputs);
  // The channels of a group belong together, so such convolutions are not divided.
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

Fault prepare_operators(const PrepareContext& context, PreparedKernel* prepared) {
  auto* panels = make_state<XnnPanels>(context.allocator);
  if (panels == nullptr) return no_memory("conv2d");
  prepared->state = panels;
  return prepared_or_released(create_operators(context, panels, prepared), context.allocator,
                              prepared, release_panels);
}

Fault run_operators(void* state, const RunContext& context) {
  const auto& panels = *static_cast<XnnPanels*>(state);
  if (context.rebind) {
    LAZYRT_RETURN_IF_ERROR(for_each_panel(panels, [&](xnn_operator_t op, size_t first) {
      return setup_xnn_convolution("conv2d: setup", op, context.workspace,
                                   context.inputs[0].as<const float>(),
                                   context.outputs[0].as<float>() + first);
    }));
  }
  return run_panels("conv2d: run", panels, cpu_services(context));
}

#endif

constexpr Kernel kWays[] = {
    {takes_winograd, prepare_winograd, run_winograd, release_state},
    {takes_pixels, prepare_pixels, run_pixels, release_state},
    {takes_patches, prepare_patches, run_patches, release_state},
#if LAZYRT_HAS_XNNPACK
    {nullptr, prepare_operators, run_operators, release_panels},
#endif
};

}  // namespace

const Kernel conv2d_cpu = {supports, nullptr, nullptr, nullptr, kWays};

}  // namespace lazyrt
