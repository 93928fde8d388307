// Gated recurrent unit over whole sequences, layers and directions.

#include <cmath>

#include "kernels/rnn/rnn.h"

namespace lazyrt {

extern const OpDef gru_op;

namespace {

constexpr int kGates = 3;  // r, z, n
constexpr int kStates = 1;

Fault infer(const OpAttrs& attrs, Span<const TensorSpec> in, Span<TensorSpec> out) {
  LAZYRT_RETURN_IF_ERROR(check_operands("gru", gru_op, in, out));
  return infer_rnn("gru", attrs.as<fb::Gru>(), kGates, kStates, in, out);
}

Work work(const OpAttrs& attrs, Span<const TensorSpec> in, Span<const TensorSpec>) {
  return rnn_work(attrs.as<fb::Gru>(), kGates, kStates, in);
}

Fault prepare(const PrepareContext& context, PreparedKernel* prepared) {
  const auto& in = context.node.inputs;
  const RnnSizes s =
      rnn_sizes(context.node.attrs.as<fb::Gru>(), kGates, kStates, in[0].shape, in[1].shape);
  prepared->workspace_bytes = static_cast<size_t>(s.workspace()) * dtype_size(in[0].dtype);
  return Fault();
}

template <class T>
void cell(const T* x, const T* h_gates, T* h, T*, int64_t hidden) {
  for (int64_t i = 0; i < hidden; ++i) {
    const T r = 1 / (1 + std::exp(-(x[i] + h_gates[i])));
    const T z = 1 / (1 + std::exp(-(x[hidden + i] + h_gates[hidden + i])));
    const T n = std::tanh(x[2 * hidden + i] + r * h_gates[2 * hidden + i]);
    h[i] = n + z * (h[i] - n);
  }
}

Fault run(void*, const RunContext& context) {
  if (context.outputs[0].numel() == 0 && context.outputs[1].numel() == 0) return {};
  const RnnSizes s = rnn_sizes(context.attrs.as<fb::Gru>(), kGates, kStates,
                               context.inputs[0].shape, context.inputs[1].shape);
  return visit_dtype(FloatTypes{}, context.inputs[0].dtype, [&](auto type) {
    using T = typename decltype(type)::type;
    return run_rnn<T>(context, s, cell<T>);
  });
}

}  // namespace

const OpDef gru_op = define_op(infer, work, run)
                         .with_inputs(4, OpDef::kAnyNumber)
                         .with_outputs(2)
                         .with_prepare(prepare);

}  // namespace lazyrt
