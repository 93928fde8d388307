// The backend that runs every node by its op's readable kernel. No services, one thread.

#include "lazyrt/runtime.h"
#include "runtime/backend/backend.h"

namespace lazyrt {
namespace {

const Kernel* select(const OpEntry& op, const NodeSpec& node, Status* why) {
  const Kernel* kernel = op.kernels[static_cast<int>(KernelSlot::kReference)];
  if (kernel == nullptr || kernel->run == nullptr) {
    *why = Status(Error::kUnsupported, "%s has no reference kernel", op.name);
    return nullptr;
  }
  if (kernel->supports == nullptr) return kernel;
  *why = kernel->supports(node);
  return why->ok() ? kernel : nullptr;
}

constexpr Backend make_backend() {
  Backend backend;
  backend.name = "reference";
  backend.select = select;
  return backend;
}

constexpr Backend kBackend = make_backend();

}  // namespace

const Backend* reference_backend() { return &kBackend; }

}  // namespace lazyrt
