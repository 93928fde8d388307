// XNNPACK's fully connected layer; weights that are computed at run time are packed at each run.

#include "kernels/common/check.h"
#include "runtime/backends/cpu/cpu_backend.h"
#include "runtime/backends/cpu/xnn_op.h"

namespace lazyrt {

extern const Kernel linear_cpu;

namespace {

constexpr uint64_t kOp = static_cast<uint64_t>(fb::OpAttrs::Linear);

const TensorSpec& bias_of(const NodeSpec& node) { return operand_or_absent(node.inputs, 2); }

struct LinearState : XnnState {
  bool packed = false;  ///< weights were constant and are packed
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
  {
    PackingTag tag = {kOp};
    WeightStore::Packing packing(cpu.weights, tag.add(context.node.inputs[1].shape));
    LAZYRT_RETURN_IF_ERROR(xnn_status(
        "linear: create",
        xnn_create_fully_connected_nc_f32(
            e.in, e.out, e.in, e.out, static_cast<const float*>(context.node.inputs[1].constant),
            static_cast<const float*>(bias_of(context.node).constant), a.min(), a.max(), 0, nullptr,
            packing.cache(), &state->op)));
    prepared->packed_weight_bytes = packing.new_bytes();
  }
  return xnn_status("linear: reshape",
                    xnn_reshape_fully_connected_nc_f32(state->op, e.rows, cpu.pool));
}

Status prepare_dynamic(const PrepareContext& context, LinearState* state,
                       PreparedKernel* prepared) {
  const auto& a = context.node.attrs.as<fb::Linear>();
  const Extents e = extents_of(context.node);
  size_t alignment = 0;
  LAZYRT_RETURN_IF_ERROR(xnn_status("linear: create", xnn_create_dynamic_fully_connected_nc_f32(
                                                          a.min(), a.max(), 0, &state->op)));
  return xnn_status("linear: reshape",
                    xnn_reshape_dynamic_fully_connected_nc_f32(
                        state->op, e.rows, e.in, e.out, e.in, e.out, &prepared->workspace_bytes,
                        &alignment, cpu_services(context).pool));
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
                      context.allocator, prepared);
}

enum xnn_status setup(const LinearState& state, const RunContext& context) {
  const float* x = context.inputs[0].as<const float>();
  float* y = context.outputs[0].as<float>();
  if (state.packed) return xnn_setup_fully_connected_nc_f32(state.op, x, y);
  const bool has_bias = context.inputs.size() > 2 && context.inputs[2].present();
  return xnn_setup_dynamic_fully_connected_nc_f32(
      state.op, context.workspace, x, context.inputs[1].as<const float>(),
      has_bias ? context.inputs[2].as<const float>() : nullptr, y);
}

Status run(void* state, const RunContext& context) {
  const auto& linear = *static_cast<LinearState*>(state);
  if (context.rebind) LAZYRT_RETURN_IF_ERROR(xnn_status("linear: setup", setup(linear, context)));
  return xnn_status("linear: run", xnn_run_operator(linear.op, cpu_services(context).pool));
}

}  // namespace

const Kernel linear_cpu = {supports, prepare, run, release_xnn};

}  // namespace lazyrt
