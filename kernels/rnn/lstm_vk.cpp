// Long short-term memory, whole sequences.

#include "kernels/rnn/rnn_vk.h"

namespace lazyrt {

extern const Kernel lstm_vk;

namespace {

using LstmKernel = RnnKernel<fb::Lstm, 4, 2>;

Fault supports(const NodeSpec& node) { return LstmKernel::supports("lstm", node); }

}  // namespace

const Kernel lstm_vk = {supports, LstmKernel::prepare, LstmKernel::run, nullptr};

}  // namespace lazyrt
