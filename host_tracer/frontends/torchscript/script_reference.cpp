#include "host_tracer/frontends/torchscript/script_reference.h"

#include <ATen/ATen.h>
#include <torch/csrc/jit/api/function_impl.h>
#include <torch/csrc/jit/runtime/graph_executor.h>
#include <torch/csrc/jit/runtime/print_handler.h>
#include <torch/csrc/jit/serialization/export.h>
#include <torch/csrc/jit/serialization/import.h>

#include <optional>
#include <sstream>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "host_tracer/frontends/shared/eager_run.h"
#include "host_tracer/frontends/torchscript/script_module.h"
#include "host_tracer/frontends/torchscript/script_numbers.h"

namespace lazyrt {
namespace {

/// LibTorch runs graphs as they are, without profiling and fusing: it is to be trusted, not fast.
/// What they print is not shown once more for each call of the check.
class PlainExecution {
 public:
  PlainExecution()
      : optimizes_(torch::jit::getGraphExecutorOptimize()),
        profiles_(torch::jit::getProfilingMode().exchange(false)),
        prints_(torch::jit::getPrintHandler()) {
    torch::jit::setGraphExecutorOptimize(false);
    torch::jit::setPrintHandler([](const std::string&) {});
  }
  ~PlainExecution() {
    torch::jit::setPrintHandler(prints_);
    torch::jit::setGraphExecutorOptimize(optimizes_);
    torch::jit::getProfilingMode() = profiles_;
  }
  PlainExecution(const PlainExecution&) = delete;
  PlainExecution& operator=(const PlainExecution&) = delete;

 private:
  const bool optimizes_, profiles_;
  const torch::jit::PrintHandler prints_;
};

class ScriptProgram {
 public:
  ScriptProgram(torch::jit::Module module, ScriptInputs inputs, const Trace& trace)
      : module_(std::move(module)),
        inputs_(std::move(inputs)),
        names_(output_names(trace)),
        gradients_(trace.takes_gradients) {}

  EagerRun call(const std::vector<SampleTensor>& samples, bool reset) {
    if (reset || !copy_) copy_ = copy_of(module_);
    const std::vector<at::Tensor> inputs = cloned_inputs(samples);
    return eager_run(names_, gradients_,
                     [&] { return run_in_eager(*copy_, inputs_.arguments(inputs)); });
  }

 private:
  const torch::jit::Module module_;
  const ScriptInputs inputs_;
  const std::vector<std::string> names_;
  const bool gradients_;
  std::optional<torch::jit::Module> copy_;  ///< what the calls since the last reset have made of it
};

/// Whether two tensors of the module, its attributes' among them, lie in one memory.
bool shares_memory(const torch::jit::Module& module) {
  std::unordered_map<const void*, const void*> tensors;
  bool found = false;
  c10::IValue(module._ivalue()).visit([&](const c10::IValue& item) {
    if (!item.isTensor() || !item.toTensor().defined()) return found;
    const at::Tensor& t = item.toTensor();
    if (!t.has_storage() || t.numel() == 0) return found;
    const auto [it, is_new] = tensors.emplace(t.storage().data(), t.unsafeGetTensorImpl());
    found = found || (!is_new && it->second != t.unsafeGetTensorImpl());
    return found;
  });
  return found;
}

/// Module::deepcopy() gives each tensor memory of its own; a file keeps what they share.
torch::jit::Module copy_with_memory(const torch::jit::Module& module) {
  std::stringstream file;
  module.save(file);
  return torch::jit::load(file);
}

}  // namespace

torch::jit::Module copy_of(const torch::jit::Module& module) {
  const at::AutoGradMode mode(false);
  torch::jit::Module copy = shares_memory(module) ? copy_with_memory(module) : module.deepcopy();
  std::vector<at::Tensor> copies;
  for (const at::Tensor& parameter : copy.parameters()) copies.push_back(parameter);
  size_t i = 0;
  for (const at::Tensor& parameter : module.parameters()) {
    copies.at(i++).set_requires_grad(parameter.requires_grad());
  }
  return copy;
}

c10::IValue run_in_eager(const torch::jit::Module& module, std::vector<c10::IValue> arguments) {
  const PlainExecution plain;
  return call_with_hooks(module, std::move(arguments),
                         [](torch::jit::Function& function, std::vector<c10::IValue> stack) {
                           return function(std::move(stack));
                         });
}

std::shared_ptr<const EagerReference> script_reference(const torch::jit::Module& module,
                                                       const ScriptInputs& inputs,
                                                       const Trace& trace) {
  auto program = std::make_shared<ScriptProgram>(module, inputs, trace);
  auto reference = std::make_shared<EagerReference>();
  reference->takes_other_samples = true;
  reference->may_be_foreign = true;
  reference->call = [program](const std::vector<SampleTensor>& samples, bool reset) {
    return program->call(samples, reset);
  };
  reference->numbers = [module] { return numbers_in(module); };
  return reference;
}

}  // namespace lazyrt
