// Gated recurrent unit, whole sequences.

#include "kernels/rnn/rnn_cpu.h"

namespace lazyrt {

extern const Kernel gru_cpu;

namespace {

RnnSizes sizes_of(const NodeSpec& node) {
  return rnn_sizes(node.attrs.as<fb::Gru>(), 3, 1, node.inputs[0].shape, node.inputs[1].shape);
}

void cell(const VectorOps& vector, const float* x, float* h_sums, const float* h, float*,
          float* out, size_t hidden) {
  vector.gru_gates(x, h_sums, hidden, h, out, hidden);
}

Fault supports(const NodeSpec& node) { return rnn_supports("gru", node, sizes_of(node)); }

Fault prepare(const PrepareContext& context, PreparedKernel* prepared) {
  return rnn_prepare("gru", context, sizes_of(context.node), prepared);
}

Fault run(void* state, const RunContext& context) {
  return rnn_run("gru", static_cast<RnnState*>(state), context, cell);
}

}  // namespace

const Kernel gru_cpu = {supports, prepare, run, rnn_release};

}  // namespace lazyrt
