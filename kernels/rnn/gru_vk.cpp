// Gated recurrent unit, whole sequences.

#include "kernels/rnn/rnn_vk.h"

namespace lazyrt {

extern const Kernel gru_vk;

namespace {

RnnSizes sizes_of(const OpAttrs& attrs, const Shape& x, const Shape& h0) {
  return rnn_sizes(attrs.as<fb::Gru>(), 3, 1, x, h0);
}
RnnSizes sizes_of(const NodeSpec& node) {
  return sizes_of(node.attrs, node.inputs[0].shape, node.inputs[1].shape);
}

Fault supports(const NodeSpec& node) { return rnn_shader_supports("gru", node, sizes_of(node)); }

Fault prepare(const PrepareContext& context, PreparedKernel* prepared) {
  const RnnSizes s = sizes_of(context.node);
  prepared->workspace_bytes = static_cast<size_t>(RnnPlaces(s).bytes(s));
  return {};
}

Fault run(void*, const RunContext& context) {
  const RnnSizes s = sizes_of(context.attrs, context.inputs[0].shape, context.inputs[1].shape);
  return RnnRecorder(context, s).record();
}

}  // namespace

const Kernel gru_vk = {supports, prepare, run, nullptr};

}  // namespace lazyrt
