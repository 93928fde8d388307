// The backend that runs every node by its op's readable kernel. It has no services and one thread.

#include "lazyrt/runtime.h"
#include "runtime/backend/backend.h"

namespace lazyrt {
namespace {

const Kernel* select(const OpEntry& op, const NodeSpec& node, Fault* why) {
  return find_kernel(op, KernelSlot::kReference, node, why);
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
