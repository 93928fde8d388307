// Gated recurrent unit, whole sequences.

#include "kernels/rnn/rnn_vk.h"

namespace lazyrt {

extern const Kernel gru_vk;

namespace {

using GruKernel = RnnKernel<fb::Gru, 3, 1>;

Fault supports(const NodeSpec& node) { return GruKernel::supports("gru", node); }

}  // namespace

const Kernel gru_vk = {supports, GruKernel::prepare, GruKernel::run, nullptr};

}  // namespace lazyrt
