// Long short-term memory, whole sequences.

#include "kernels/rnn/rnn_cpu.h"

namespace lazyrt {

extern const Kernel lstm_cpu;

namespace {

RnnSizes sizes_of(const NodeSpec& node) {
  return rnn_sizes(node.attrs.as<fb::Lstm>(), 4, 2, node.inputs[0].shape, node.inputs[1].shape);
}

void cell(const VectorOps& vector, const float* x, float* h_sums, const float*, float* c,
          float* out, size_t hidden) {
  vector.add_to(x, h_sums, 4 * hidden);
  vector.lstm_gates(h_sums, hidden, c, out, hidden);
}

Fault supports(const NodeSpec& node) { return rnn_supports("lstm", node, sizes_of(node)); }

Fault prepare(const PrepareContext& context, PreparedKernel* prepared) {
  return rnn_prepare("lstm", context, sizes_of(context.node), prepared);
}

Fault run(void* state, const RunContext& context) {
  return rnn_run("lstm", static_cast<RnnState*>(state), context, cell);
}

}  // namespace

const Kernel lstm_cpu = {supports, prepare, run, rnn_release};

}  // namespace lazyrt
