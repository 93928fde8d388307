#include "runtime/exec/node_share.h"

#include <algorithm>

namespace lazyrt {
namespace {

/// Room for tables, in proportion to the operands that they describe.
constexpr uint64_t kNodeSlack = uint64_t{1} << 20, kNodeFactor = 16;
/// In addition, what a workspace may have for each thread.
constexpr uint64_t kThreadWorkspace = uint64_t{16} << 20;

}  // namespace

uint64_t share_of(const NodeSpec& node) {
  constexpr uint64_t kMost = UINT64_MAX / 4 / kNodeFactor;
  uint64_t bytes = 0;
  for (const auto& specs : {node.inputs, Span<const TensorSpec>(node.outputs)}) {
    for (const TensorSpec& spec : specs) {
      if (spec.present()) bytes = std::min<uint64_t>(bytes + spec.bytes(), kMost);
    }
  }
  return kNodeSlack + kNodeFactor * bytes;
}

Fault refused_beyond_share(const Fault& status, CountedMemory* memory) {
  if (status.error() != Error::kOutOfMemory ||
      memory->refusal() != CountedMemory::Refusal::kShare) {
    return status;
  }
  memory->forget_refusal();
  return Fault(Error::kUnsupported, "%s: more than a node of its size may take", status.message());
}

Fault prepare_kernel(const Kernel& kernel, const Backend& backend, const PrepareContext& context,
                     CountedMemory* memory, int threads, PreparedKernel* prepared) {
  if (kernel.prepare == nullptr) return {};
  if (backend.fallback == nullptr) return kernel.prepare(context, prepared);
  const uint64_t share = share_of(context.node);
  LAZYRT_RETURN_IF_ERROR(
      within_share(memory, share, [&] { return kernel.prepare(context, prepared); }));
  const uint64_t workspace = share + static_cast<uint64_t>(threads) * kThreadWorkspace;
  if (prepared->workspace_bytes <= workspace) return {};
  if (kernel.release != nullptr) kernel.release(prepared->state, context.allocator);
  return Fault(Error::kUnsupported,
               "a workspace of %zu bytes is more than a node of its size may take",
               prepared->workspace_bytes);
}

}  // namespace lazyrt
