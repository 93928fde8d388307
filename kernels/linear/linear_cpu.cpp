// Our own product where it is faster, else XNNPACK's fully connected layer; weights that are
// computed at run time are packed at each run, by XNNPACK.

#include "kernels/common/check.h"
#include "runtime/backends/cpu/gemm_panels.h"
#include "runtime/backends/cpu/xnn_panels.h"

namespace lazyrt {

extern const Kernel linear_cpu;

namespace {

const TensorSpec& bias_of(const NodeSpec& node) { return operand_or_absent(node.inputs, 2); }

/// Operators, or panels of our own.
struct LinearState : XnnPanels {
  bool packed = false;  ///< weights were constant and are packed
  GemmPanels gemm;
};

Status supports(const NodeSpec& node) {
  const auto& a = node.attrs.as<fb::Linear>();
  if (node.inputs[0].dtype != DType::kFloat32)
    return Status(Error::kUnsupported, "linear: only f32");
  if (node.inputs[1].numel() == 0 || node.inputs[0].numel() == 0) {
    return Status(Error::kUnsupported, "linear: empty operand");
  }
  if (!(a.min() <= a.max())) return Status(Error::kUnsupported, "linear: empty clamp");
  return {};
}

struct Extents {
  size_t rows, in, out;
};
Extents extents_of(const NodeSpec& node) {
  const Shape& w = node.inputs[1].shape;
  const auto in = static_cast<size_t>(w[1]);
  return {static_cast<size_t>(node.inputs[0].numel()) / in, in, static_cast<size_t>(w[0])};
}

Status prepare_packed(const PrepareContext& context, LinearState* state, PreparedKernel* prepared) {
  const auto& a = context.node.attrs.as<fb::Linear>();
  const Extents e = extents_of(context.node);
  const CpuServices& cpu = cpu_services(context);
  if (gemm_pays(*cpu.vector, e.rows, e.in, e.out)) {
    return prepare_gemm("linear", context, bias_of(context.node), &state->gemm, prepared);
  }
  const auto* weights = static_cast<const float*>(context.node.inputs[1].constant);
  const auto* bias = static_cast<const float*>(bias_of(context.node).constant);
  return create_panels(state, e.in, e.out, [&](size_t first, size_t columns, xnn_operator_t* op) {
    const XnnFullyConnected panel = {e.rows,
                                     e.in,
                                     columns,
                                     e.out,
                                     weights + first * e.in,
                                     bias == nullptr ? nullptr : bias + first,
                                     false,
                                     a.min(),
                                     a.max()};
    return prepare_xnn("linear", context, panel, op, prepared);
  });
}

Status prepare_dynamic(const PrepareContext& context, LinearState* state,
                       PreparedKernel* prepared) {
  const auto& a = context.node.attrs.as<fb::Linear>();
  const Extents e = extents_of(context.node);
  state->count = 1;
  return prepare_xnn("linear", context,
                     {e.rows, e.in, e.out, e.out, nullptr, nullptr, false, a.min(), a.max()},
                     &state->ops[0], prepared);
}

Status prepare(const PrepareContext& context, PreparedKernel* prepared) {
  auto* state = make_state<LinearState>(context.allocator);
  if (state == nullptr) return no_memory("linear");
  prepared->state = state;
  const TensorSpec& bias = bias_of(context.node);
  state->packed =
      context.node.inputs[1].constant != nullptr && (!bias.present() || bias.constant != nullptr);
  return prepared_xnn(state->packed ? prepare_packed(context, state, prepared)
                                    : prepare_dynamic(context, state, prepared),
                      context.allocator, prepared, release_panels);
}

Status setup(const LinearState& state, const RunContext& context) {
  const float* x = context.inputs[0].as<const float>();
  float* y = context.outputs[0].as<float>();
  if (state.packed) {
    return for_each_panel(state, [&](xnn_operator_t op, size_t first) {
      return setup_xnn_fully_connected("linear: setup", op, x, y + first);
    });
  }
  const bool has_bias = context.inputs.size() > 2 && context.inputs[2].present();
  return setup_xnn_fully_connected("linear: setup", state.ops[0], context.workspace, x,
                                   context.inputs[1].as<const float>(),
                                   has_bias ? context.inputs[2].as<const float>() : nullptr, y);
}

Status run(void* state, const RunContext& context) {
  const auto& linear = *static_cast<LinearState*>(state);
  if (linear.gemm.packed != nullptr) {
    const auto& a = context.attrs.as<fb::Linear>();
    return run_gemm(context, linear.gemm, a.min(), a.max()), Status();
  }
  if (context.rebind) LAZYRT_RETURN_IF_ERROR(setup(linear, context));
  return run_panels("linear: run", linear, cpu_services(context));
}

}  // namespace

const Kernel linear_cpu = {supports, prepare, run, release_panels};

}  // namespace lazyrt
