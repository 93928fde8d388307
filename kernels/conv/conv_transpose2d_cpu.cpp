// NHWC deconvolution with a fused clamp: as products where kernels do not overlap and ours are
// faster, else XNNPACK's.

#include "kernels/common/check.h"
#include "runtime/backends/cpu/gemm_panels.h"
#include "runtime/backends/cpu/xnn_op.h"

namespace lazyrt {

extern const Kernel conv_transpose2d_cpu;

namespace {

/// An operator, or the products of the kernel's rows: without overlap, row i of the kernel makes
/// the row h * stride + i of y from the row h of x, all (column of the kernel, filter) side by
/// side.
struct TransposeState : XnnState {
  static constexpr int64_t kMostRows = 8;
  size_t row_count = 0;
  GemmPanels rows[kMostRows];
};

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
  PackingTag tag = {Packer::kXnnDeconvolution};
  tag.add(node.inputs[1].shape).add(a.groups()).add(a.stride_h()).add(a.stride_w());
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
  packing.expect(context.node.inputs[1].bytes());
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

Status prepare_xnn(const PrepareContext& context, XnnState* state, PreparedKernel* prepared) {
  LAZYRT_RETURN_IF_ERROR(create(context, state, &prepared->packed_weight_bytes));
  return reshape(context, state);
}

bool is_products(const PrepareContext& context) {
  const auto& a = context.node.attrs.as<fb::ConvTranspose2d>();
  const Shape& x = context.node.inputs[0].shape;
  const Shape& w = context.node.inputs[1].shape;
  return a.groups() == 1 && a.stride_h() == w[1] && a.stride_w() == w[2] && a.dilation_h() == 1 &&
         a.dilation_w() == 1 && a.pad_top() == 0 && a.pad_left() == 0 && a.pad_bottom() == 0 &&
         a.pad_right() == 0 && a.output_pad_h() == 0 && a.output_pad_w() == 0 &&
         w[1] <= TransposeState::kMostRows &&
         gemm_pays(*cpu_services(context).vector, static_cast<size_t>(x[2]),
                   static_cast<size_t>(w[3]), static_cast<size_t>(w[2] * w[0]));
}

Status prepare_products(const PrepareContext& context, TransposeState* state,
                        PreparedKernel* prepared) {
  const TensorSpec& weight = context.node.inputs[1];
  const auto filters = static_cast<size_t>(weight.shape[0]);
  const auto kernel_h = static_cast<size_t>(weight.shape[1]);
  const auto kernel_w = static_cast<size_t>(weight.shape[2]);
  const auto channels = static_cast<size_t>(weight.shape[3]);
  const auto* bias = static_cast<const float*>(bias_of(context.node).constant);
  PackingTag tag = {Packer::kTransposePanels};
  tag.add(weight.shape);
  WeightStore::Packing packing(cpu_services(context).weights, tag);
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

Status prepare(const PrepareContext& context, PreparedKernel* prepared) {
  auto* state = make_state<TransposeState>(context.allocator);
  if (state == nullptr) return no_memory("conv_transpose2d");
  prepared->state = state;
  return prepared_xnn(is_products(context) ? prepare_products(context, state, prepared)
                                           : prepare_xnn(context, state, prepared),
                      context.allocator, prepared);
}

void run_products(const TransposeState& state, const RunContext& context) {
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
}

Status run(void* state, const RunContext& context) {
  const auto& transpose = *static_cast<TransposeState*>(state);
  if (transpose.row_count > 0) return run_products(transpose, context), Status();
  xnn_operator_t op = transpose.op;
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
