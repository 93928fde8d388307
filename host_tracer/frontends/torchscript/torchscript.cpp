#include "host_tracer/frontends/torchscript/torchscript.h"

#include <ATen/ATen.h>
#include <torch/csrc/jit/serialization/import.h>

#include <string>
#include <utility>

#include "host_tracer/frontends/shared/failures.h"
#include "host_tracer/frontends/shared/join_interfaces.h"
#include "host_tracer/frontends/shared/model_kind.h"
#include "host_tracer/frontends/torchscript/script_capture.h"
#include "host_tracer/frontends/torchscript/script_inputs.h"
#include "host_tracer/frontends/torchscript/script_module.h"
#include "host_tracer/frontends/torchscript/script_phases.h"
#include "host_tracer/frontends/torchscript/script_reference.h"

namespace lazyrt {
namespace {

/// The first lines of a loader's message, without its C++ frames.
std::string first_lines(std::string text) {
  for (const char* end : {"\nException raised from", "\nThe above operation", "\nDebug info"}) {
    text = text.substr(0, text.find(end));
  }
  return text.substr(0, 2000);
}

Failure load_failure(const std::string& path, const std::string& message) {
  const std::string text = first_lines(message);
  for (const char* stranger : {"Unknown builtin op", "Unknown type name", "torch.classes"}) {
    if (text.find(stranger) == std::string::npos) continue;
    return {Error::kUnsupported,
            path + ": uses an operator or class whose library is not loaded: " + text};
  }
  return {Error::kInvalidBundle, path + ": LibTorch cannot load it: " + text};
}

Outcome<torch::jit::Module> load_module(const std::string& path) {
  try {
    return torch::jit::load(path, at::Device(at::kCPU));
  } catch (const c10::Error& e) {
    return load_failure(path, e.what_without_backtrace());
  } catch (const std::exception& e) {
    return load_failure(path, e.what());
  }
}

/// One module on one sample, in all of its phases.
class ModuleCapture {
 public:
  ModuleCapture(torch::jit::Module module, const TorchScriptOptions& options)
      : file_(std::move(module)), options_(options) {}

  Outcome<std::vector<Trace>> run() {
    ScriptCapture plain = capture_script(file_, ScriptModule(file_), options_);
    PhasesCapture done;
    if (plain.changes_form || !plain.steering_numbers.empty()) {
      auto phases = failures_of_file("", [&] { return capture_phases(request(plain)); });
      if (!phases.ok() && !plain.trace.ok()) return phases.failure();
      if (phases.ok()) done = std::move(*phases);
    }
    if (done.traces.empty()) {
      if (!plain.trace.ok()) return plain.trace.failure();
      done.traces.push_back(std::move(*plain.trace));
      interface_ = plain.interface;
    }
    LAZYRT_TRY(compare_samples(done.summary));
    if (options_.interface) *options_.interface = interface_;
    return std::move(done.traces);
  }

 private:
  PhasesRequest request(const ScriptCapture& plain) {
    PhasesRequest request;
    request.file = file_;
    request.steering = plain.steering_numbers;
    request.call = [this](const torch::jit::Module& module) { call(module); };
    request.capture = [this](ScriptModule module, const std::vector<std::string>& varying) {
      return capture_phase(std::move(module), varying);
    };
    return request;
  }

  /// Calls a module on the sample, by LibTorch.
  void call(const torch::jit::Module& module) const {
    const at::AutoGradMode mode(false);
    const ScriptInputs inputs(file_.get_method("forward").function().getSchema(), options_.inputs);
    std::vector<at::Tensor> tensors;
    for (const NamedTensor& input : inputs.tensors()) tensors.push_back(input.tensor.clone());
    run_in_eager(module, inputs.arguments(tensors));
  }

  ScriptCapture capture_phase(ScriptModule module, const std::vector<std::string>& varying) {
    ScriptCapture made = capture_script(file_, std::move(module), options_, varying);
    if (made.trace.ok() && !join_interfaces(made.interface, &interface_)) {
      made.trace = Failure{Error::kUnsupported,
                           "a later call returns other texts, flags or infinite numbers than the "
                           "first one, or nests its results differently: return tensors, always "
                           "nested alike"};
    }
    return made;
  }

  /// Calls on one sample may follow calls on another.
  Outcome<Done> compare_samples(const std::string& phases) const {
    if (!options_.phases) return Done{};
    if (*options_.phases && **options_.phases != phases) {
      return Failure{Error::kUnsupported,
                     "in a row of calls on this sample the attributes take other forms (None, "
                     "flags, lengths, shapes) than on the first one: export a bundle for each "
                     "sample, or all from Python: lazyrt.export(torch.jit.load(path), [...])"};
    }
    *options_.phases = phases;
    return Done{};
  }

  const torch::jit::Module file_;
  const TorchScriptOptions& options_;
  std::string interface_;  ///< of all phases
};

}  // namespace

Outcome<std::vector<Trace>> capture_torchscript(const std::string& path,
                                                const TorchScriptOptions& options) {
  auto kind = model_kind(path);
  if (!kind.ok()) return kind.failure();
  if (*kind != ModelKind::kTorchScript) {
    return Failure{Error::kInvalidBundle,
                   path + ": a .pt2 of torch.export, not a TorchScript file"};
  }
  if (options.progress) options.progress("read", 0, 1);
  auto module = load_module(path);
  if (!module.ok()) return module.failure();
  if (options.progress) options.progress("read", 1, 1);
  return failures_of_file(path, [&] { return ModuleCapture(std::move(*module), options).run(); });
}

}  // namespace lazyrt
