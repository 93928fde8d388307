// Long short-term memory over whole sequences, layers and directions.

#include <cmath>

#include "kernels/rnn/rnn.h"

namespace lazyrt {

extern const OpDef lstm_op;

namespace {

constexpr int kGates = 4;  // i, f, g, o
constexpr int kStates = 2;

Fault infer(const OpAttrs& attrs, Span<const TensorSpec> in, Span<TensorSpec> out) {
  LAZYRT_RETURN_IF_ERROR(check_operands("lstm", lstm_op, in, out));
  return infer_rnn("lstm", attrs.as<fb::Lstm>(), kGates, kStates, in, out);
}

Work work(const OpAttrs& attrs, Span<const TensorSpec> in, Span<const TensorSpec>) {
  return rnn_work(attrs.as<fb::Lstm>(), kGates, kStates, in);
}

Fault prepare(const PrepareContext& context, PreparedKernel* prepared) {
  const auto& in = context.node.inputs;
  const RnnSizes s =
      rnn_sizes(context.node.attrs.as<fb::Lstm>(), kGates, kStates, in[0].shape, in[1].shape);
  prepared->workspace_bytes = static_cast<size_t>(s.workspace()) * dtype_size(in[0].dtype);
  return Fault();
}

template <class T>
T sigmoid(T x) {
  return 1 / (1 + std::exp(-x));
}

template <class T>
void cell(const T* x, const T* h_gates, T* h, T* c, int64_t hidden) {
  for (int64_t k = 0; k < hidden; ++k) {
    const T i = sigmoid(x[k] + h_gates[k]);
    const T f = sigmoid(x[hidden + k] + h_gates[hidden + k]);
    const T g = std::tanh(x[2 * hidden + k] + h_gates[2 * hidden + k]);
    const T o = sigmoid(x[3 * hidden + k] + h_gates[3 * hidden + k]);
    c[k] = f * c[k] + i * g;
    h[k] = o * std::tanh(c[k]);
  }
}

Fault run(void*, const RunContext& context) {
  if (context.outputs[0].numel() == 0 && context.outputs[1].numel() == 0) return {};
  const RnnSizes s = rnn_sizes(context.attrs.as<fb::Lstm>(), kGates, kStates,
                               context.inputs[0].shape, context.inputs[1].shape);
  return visit_dtype(FloatTypes{}, context.inputs[0].dtype, [&](auto type) {
    using T = typename decltype(type)::type;
    return run_rnn<T>(context, s, cell<T>);
  });
}

}  // namespace

const OpDef lstm_op = define_op(infer, work, run)
                          .with_inputs(5, OpDef::kAnyNumber)
                          .with_outputs(3)
                          .with_prepare(prepare);

}  // namespace lazyrt
