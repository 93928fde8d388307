// Our own product if it is faster, else XNNPACK's fully connected layer. Weights that are computed
// at run time are packed in each run, by XNNPACK if it is available.

#include "kernels/common/check.h"
#include "runtime/backends/cpu/gemm_panels.h"
#if LAZYRT_HAS_XNNPACK
#include "runtime/backends/cpu/xnn_panels.h"
#endif

namespace lazyrt {

extern const Kernel linear_cpu;

namespace {

const TensorSpec& bias_of(const NodeSpec& node) { return operand_or_absent(node.inputs, 2); }

Fault supports(const NodeSpec& node) {
  const auto& a = node.attrs.as<fb::Linear>();
  if (node.inputs[0].dtype != DType::kFloat32)
    return Fault(Error::kUnsupported, "linear: only f32");
  if (node.inputs[1].numel() == 0 || node.inputs[0].numel() == 0) {
    return Fault(Error::kUnsupported, "linear: empty operand");
  }
  if (!(a.min() <= a.max())) return Fault(Error::kUnsupported, "linear: empty clamp");
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

bool is_constant(const NodeSpec& node) {
  const TensorSpec& bias = bias_of(node);
  return node.inputs[1].constant != nullptr && (!bias.present() || bias.constant != nullptr);
}

Fault takes_gemm(const NodeSpec& node) {
  const Extents e = extents_of(node);
  return takes(is_constant(node) && gemm_pays(vector_ops(), e.rows, e.in, e.out), "our gemm");
}

Fault prepare_own(const PrepareContext& context, PreparedKernel* prepared) {
  auto* gemm = make_state<GemmPanels>(context.allocator);
  if (gemm == nullptr) return no_memory("linear");
  prepared->state = gemm;
  return prepared_or_released(
      prepare_gemm("linear", context, bias_of(context.node), gemm, prepared), context.allocator,
      prepared, release_state);
}

Fault run_own(void* state, const RunContext& context) {
  const auto& a = context.attrs.as<fb::Linear>();
  return run_gemm(context, *static_cast<GemmPanels*>(state), a.min(), a.max()), Fault();
}

#if LAZYRT_HAS_XNNPACK

Fault takes_packed(const NodeSpec& node) {
  return takes(is_constant(node), "weights computed at run time");
}

Fault create_packed(const PrepareContext& context, XnnPanels* panels, PreparedKernel* prepared) {
  const auto& a = context.node.attrs.as<fb::Linear>();
  const Extents e = extents_of(context.node);
  const auto* weights = static_cast<const float*>(context.node.inputs[1].constant);
  const auto* bias = static_cast<const float*>(bias_of(context.node).constant);
  return create_panels(panels, e.in, e.out, [&](size_t first, size_t columns, xnn_operator_t* op) {
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

Fault prepare_packed(const PrepareContext& context, PreparedKernel* prepared) {
  auto* panels = make_state<XnnPanels>(context.allocator);
  if (panels == nullptr) return no_memory("linear");
  prepared->state = panels;
  return prepared_or_released(create_packed(context, panels, prepared), context.allocator, prepared,
                              release_panels);
}

Fault run_packed(void* state, const RunContext& context) {
  const auto& panels = *static_cast<XnnPanels*>(state);
  if (context.rebind) {
    LAZYRT_RETURN_IF_ERROR(for_each_panel(panels, [&](xnn_operator_t op, size_t first) {
      return setup_xnn_fully_connected("linear: setup", op, context.inputs[0].as<const float>(),
                                       context.outputs[0].as<float>() + first);
    }));
  }
  return run_panels("linear: run", panels, cpu_services(context));
}

Fault prepare_dynamic(const PrepareContext& context, PreparedKernel* prepared) {
  auto* state = make_state<XnnState>(context.allocator);
  if (state == nullptr) return no_memory("linear");
  prepared->state = state;
  const auto& a = context.node.attrs.as<fb::Linear>();
  const Extents e = extents_of(context.node);
  const XnnFullyConnected layer = {e.rows,  e.in,  e.out,   e.out,  nullptr,
                                   nullptr, false, a.min(), a.max()};
  return prepared_or_released(prepare_xnn("linear", context, layer, &state->op, prepared),
                              context.allocator, prepared, release_xnn);
}

Fault run_dynamic(void* state, const RunContext& context) {
  xnn_operator_t op = static_cast<XnnState*>(state)->op;
  const bool has_bias = context.inputs.size() > 2 && context.inputs[2].present();
  if (context.rebind) {
    LAZYRT_RETURN_IF_ERROR(setup_xnn_fully_connected(
        "linear: setup", op, context.workspace, context.inputs[0].as<const float>(),
        context.inputs[1].as<const float>(),
        has_bias ? context.inputs[2].as<const float>() : nullptr, context.outputs[0].as<float>()));
  }
  return run_xnn("linear: run", op, cpu_services(context));
}

constexpr Kernel kWays[] = {
    {takes_gemm, prepare_own, run_own, release_state},
    {takes_packed, prepare_packed, run_packed, release_panels},
    {nullptr, prepare_dynamic, run_dynamic, release_xnn},
};

#else

Fault prepare_dynamic(const PrepareContext& context, PreparedKernel* prepared) {
  const Extents e = extents_of(context.node);
  return passing_panels_bytes("linear", e.in, e.out, &prepared->workspace_bytes);
}

Fault run_dynamic(void*, const RunContext& context) {
  const auto& a = context.attrs.as<fb::Linear>();
  const Shape& w = context.inputs[1].shape;
  const bool has_bias = context.inputs.size() > 2 && context.inputs[2].present();
  const GemmPanels panels =
      pack_passing(cpu_services(context), context.inputs[1].as<const float>(), true,
                   has_bias ? context.inputs[2].as<const float>() : nullptr,
                   static_cast<size_t>(w[1]), static_cast<size_t>(w[0]), context.workspace);
  return run_gemm(context, panels, a.min(), a.max()), Fault();
}

constexpr Kernel kWays[] = {
    {takes_gemm, prepare_own, run_own, release_state},
    {nullptr, prepare_dynamic, run_dynamic, nullptr},
};

#endif

}  // namespace

const Kernel linear_cpu = {supports, nullptr, nullptr, nullptr, kWays};

}  // namespace lazyrt
