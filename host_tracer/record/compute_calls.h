#pragma once

// For tests: sees what LibTorch really computes on this thread.

#include <ATen/core/Tensor.h>
#include <ATen/record_function.h>

#include <memory>
#include <string>
#include <vector>

namespace lazyrt {

/// While one lives: the operators called on this thread whose tensor operands are all on the CPU
/// and hold more than a megabyte together. Calls that only pass a tensor on are left out.
class ComputeCalls {
 public:
  ComputeCalls() {
    seen().clear();
    handle_ = at::addThreadLocalCallback(at::RecordFunctionCallback(&ComputeCalls::on_call)
                                             .needsInputs(true)
                                             .scopes({at::RecordScope::FUNCTION}));
  }
  ~ComputeCalls() { at::removeCallback(handle_); }
  ComputeCalls(const ComputeCalls&) = delete;
  ComputeCalls& operator=(const ComputeCalls&) = delete;

  const std::vector<std::string>& calls() const { return seen(); }

 private:
  static std::vector<std::string>& seen() {
    static std::vector<std::string> calls;
    return calls;
  }

  static std::unique_ptr<at::ObserverContext> on_call(const at::RecordFunction& fn) {
    size_t bytes = 0;
    for (const c10::IValue& input : fn.inputs()) {
      if (!input.isTensor() || !input.toTensor().defined()) continue;
      if (!input.toTensor().device().is_cpu()) return nullptr;
      bytes += input.toTensor().nbytes();
    }
    const std::string name = fn.name();
    const bool passes_on = name == "aten::detach" || name == "detach" || name == "aten::set_";
    if (bytes > (1u << 20) && !passes_on) seen().push_back(name);
    return nullptr;
  }

  at::CallbackHandle handle_;
};

}  // namespace lazyrt
