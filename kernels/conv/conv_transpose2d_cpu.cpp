// NHWC deconvolution with a fused clamp: as products if kernels do not overlap and ours are faster,
// else by XNNPACK or, without XNNPACK, by the reference backend.

#include "kernels/common/check.h"
#include "runtime/backends/cpu/gemm_panels.h"
#if LAZYRT_HAS_XNNPACK
#include "runtime/backends/cpu/xnn_op.h"
#endif

namespace lazyrt {

extern const Kernel conv_transpose2d_cpu;

namespace {

/// The products for the kernel's rows. Without overlap, row i of the kernel makes row h * stride +
/// i of y from row h of x, with all pairs (column of the kernel, filter) side by side.
struct TransposeState {
  static constexpr int64_t kMostRows = 8;
  size_t row_count = 0;
  GemmPanels rows[kMostRows];
};

const TensorSpec& bias_of(const NodeSpec& node) { return operand_or_absent(node.inputs, 2); }

Fault refused(Word why) { return Fault(Error::kUnsupported, "conv_transpose2d: %s", why); }

Fault supports(const NodeSpec& node) {
  const TensorSpec& weight = node.inputs[1];
  const TensorSpec& bias = bias_of(node);
  const auto& a = node.attrs.as<fb::ConvTranspose2d>();
  if (node.inputs[0].dtype != DType::kFloat32) return refused("only f32");
  if (weight.constant == nullptr || (bias.present() && bias.constant == nullptr)) {
    return refused("weight or bias is computed at run time");
  }
  if (node.inputs[0].numel() == 0 || weight.numel() == 0 || node.outputs[0].numel() == 0) {
    return refused("empty operand");
  }
  if (a.pad_top() < 0 || a.pad_left() < 0 || a.pad_bottom() < 0 || a.pad_right() < 0) {
    return refused("negative padding");
  }
  return a.min() <= a.max() ? Fault() : refused("empty clamp");
}

bool is_products(const NodeSpec& node) {
  const auto& a = node.attrs.as<fb::ConvTranspose2d>();
  const Shape& x = node.inputs[0].shape;
  const Shape& w = node.inputs[1].shape;
  return a.groups() == 1 && a.stride_h() == w[1] && a.stride_w() == w[2] && a.dilation_h() == 1 &&
         a.dilation_w() == 1 && a.pad_top() == 0 && a.pad_left() == 0 && a.pad_bottom() == 0 &&
         a.pad_right() == 0 && a.output_pad_h() == 0 && a.output_pad_w() == 0 &&
         w[1] <= TransposeState::kMostRows &&
         gemm_pays(vector_ops(), static_cast<size_t>(x[2]), static_cast<size_t>(w[3]),
                   static_cast<size_t>(w[2] * w[0]));
}

Fault takes_products(const NodeSpec& node) { return takes(is_products(node), "products of rows"); }

Fault pack_products(const PrepareContext& context, TransposeState* state,
                    PreparedKernel* prepared) {
  const TensorSpec& weight = context.node.inputs[1];
  const auto filters = static_cast<size_t>(weight.shape[0]);
  const auto kernel_h = static_cast<size_t>(weight.shape[1]);
  const auto kernel_w = static_cast<size_t>(weight.shape[2]);
  const auto channels = static_cast<size_t>(weight.shape[3]);
  const auto* bias = static_cast<const float*>(bias_of(context.node).constant);
  PackingTag tag = {Packer::kTransposePanels};
  tag.add(weight.shape);
  const CpuServices& cpu = cpu_services(context);
  WeightStore::Packing packing(cpu.weights, tag, weight.bytes(), cpu.memory);
  for (size_t i = 0; i < kernel_h; ++i) {
    const float* row = static_cast<const float*>(weight.constant) + i * kernel_w * channels;
    const auto weights = [=](size_t j) {
      return row + (j % filters * kernel_h * kernel_w + j / filters) * channels;
    };
    if (!pack_gemm(
            &packing, row, bias, channels, kernel_w * filters, weights,
            [=](size_t j) { return bias[j % filters]; }, &state->rows[i])) {
      return no_memory("conv_transpose2d");
    }
  }
  state->row_count = kernel_h;
  prepared->packed_weight_bytes = packing.new_bytes();
  return {};
}

Fault prepare_products(const PrepareContext& context, PreparedKernel* prepared) {
  auto* state = make_state<TransposeState>(context.allocator);
  if (state == nullptr) return no_memory("conv_transpose2d");
  prepared->state = state;
  return prepared_or_released(pack_products(context, state, prepared), context.allocator, prepared,
                              release_state);
}

Fault run_products(void* prepared, const RunContext& context) {
  const auto& state = *static_cast<TransposeState*>(prepared);
  const auto& a = context.attrs.as<fb::ConvTranspose2d>();
  const Shape& x = context.inputs[0].shape;
  const GemmPanels& first = state.rows[0];
  const auto pixels = static_cast<size_t>(x[2]);
  const auto images_rows = static_cast<size_t>(x[0] * x[1]);
  const CpuServices& cpu = cpu_services(context);
  parallel_items(cpu, images_rows * state.row_count, [&](size_t, size_t item) {
    const GemmPanels& panels = state.rows[item % state.row_count];
    gemm_part(*cpu.vector, panels,
              {context.inputs[0].as<const float>() + item / state.row_count * pixels * first.k,
               first.k, pixels, context.outputs[0].as<float>() + item * pixels * first.columns,
               first.columns, a.min(), a.max()},
              0, panels.panels());
  });
  return {};
}

#if LAZYRT_HAS_XNNPACK
Fault prepare_operator(const PrepareContext& context, PreparedKernel* prepared) {
  auto* state = make_state<XnnState>(context.allocator);
  if (state == nullptr) return no_memory("conv_transpose2d");
  prepared->state = state;
  const auto& a = context.node.attrs.as<fb::ConvTranspose2d>();
  XnnConvolution conv = xnn_convolution_of(context.node, a);
  conv.output_pad_h = a.output_pad_h(), conv.output_pad_w = a.output_pad_w();
  return prepared_or_released(
      prepare_xnn_transposed("conv_transpose2d", context, conv, &state->op, prepared),
      context.allocator, prepared, release_xnn);
}

Fault run_operator(void* state, const RunContext& context) {
  xnn_operator_t op = static_cast<XnnState*>(state)->op;
  if (context.rebind) {
    LAZYRT_RETURN_IF_ERROR(setup_xnn_transposed("conv_transpose2d: setup", op,
                                                context.inputs[0].as<const float>(),
                                                context.outputs[0].as<float>()));
  }
  return run_xnn("conv_transpose2d: run", op, cpu_services(context));
}

#endif

constexpr Kernel kWays[] = {
    {takes_products, prepare_products, run_products, release_state},
#if LAZYRT_HAS_XNNPACK
    {nullptr, prepare_operator, run_operator, release_xnn},
#endif
};

}  // namespace

const Kernel conv_transpose2d_cpu = {supports, nullptr, nullptr, nullptr, kWays};

}  // namespace lazyrt
