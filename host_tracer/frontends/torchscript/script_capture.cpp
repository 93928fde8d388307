#include "host_tracer/frontends/torchscript/script_capture.h"

#include <ATen/ATen.h>
#include <c10/util/ScopeExit.h>
#include <torch/version.h>

#include <set>
#include <utility>

#include "host_tracer/frontends/shared/gradient_mode.h"
#include "host_tracer/frontends/shared/interface.h"
#include "host_tracer/frontends/shared/program_outputs.h"
#include "host_tracer/frontends/torchscript/script_inputs.h"
#include "host_tracer/frontends/torchscript/script_interpreter.h"
#include "host_tracer/frontends/torchscript/script_reference.h"
#include "host_tracer/record/capture.h"
#include "host_tracer/record/checked_capture.h"
#include "host_tracer/record/trace_phases.h"
#include "host_tracer/trace/allow.h"

namespace lazyrt {
namespace {

constexpr int kMostInARow = 64;
constexpr char kAsksForGradients[] = "the program asks whether gradients are recorded";

/// Captures a module, `file`, or a copy of it in a phase.
class TorchScriptCapture {
 public:
  TorchScriptCapture(const torch::jit::Module& file, ScriptModule module,
                     const TorchScriptOptions& options, std::string* interface)
      : options_(options),
        file_(file),
        interface_(interface),
        module_(std::move(module)),
        inputs_(forward_schema(), options.inputs) {}

  Outcome<Trace> run(const std::vector<std::string>& varying = {}) {
    CaptureRequest request;
    request.varying = varying;
    request.inputs = inputs_.tensors();
    request.parameters = module_.parameters();
    request.buffers = module_.buffers();
    CheckOptions check;
    check.second_trace = options_.second_trace;
    check.allow = options_.allow;
    request.check_of = [this](bool seen) { return running_ ? running_->check_of(seen) : ""; };
    const CaptureProgram program = [this](const std::vector<at::Tensor>& inputs) {
      return outputs_.take(flatten_outputs(run_forward(inputs, capture_device(), "trace"), "out"));
    };
    Outcome<Trace> trace = capture_checked(request, program, check);
    if (!trace.ok() && changes_form_) return trace;
    // Each capture may find one more number that changes with another: never more than there are.
    while (!changing_.empty() && !module_.phase()) {
      for (const std::string& name : std::exchange(changing_, {})) module_.keep_number(name);
      trace = capture_checked(request, program, check);
    }
    if (copies_.matter()) {
      run_on_cpu(trace.ok() && trace->takes_gradients);
      trace = capture_checked(request, program, check);
    }
    if (!trace.ok()) return trace;
    if (copies_.matter()) refuse_changing_copies(*trace);
    note_attributes(*trace);
    outputs_.put_back(*trace);
    refuse_guards_on_numbers(*trace);
    refuse_written_constants(*trace);
    note_gradient_mode(*trace);
    LAZYRT_TRY(allow_findings(*trace, options_.allow));
    if (interface_) add_demands(demands(*trace), interface_);
    trace->producer = "TorchScript, read by torch " TORCH_VERSION;
    trace->notes.insert(trace->notes.end(), inputs_.notes().begin(), inputs_.notes().end());
    trace->notes.insert(trace->notes.end(), notes_.begin(), notes_.end());
    if (options_.sample_outputs) add_sample_outputs(*trace);
    trace->relaid = relaid_;
    trace->eager = script_reference(file_, inputs_, *trace);
    return trace;
  }

  /// What the last captures found beside the trace.
  void describe(ScriptCapture* made) const {
    made->changing_numbers = changing_;
    made->steering_numbers = steering_;
    made->changes_form = changes_form_;
  }

 private:
  const c10::FunctionSchema& forward_schema() const {
    const auto forward = file_.find_method("forward");
    TORCH_CHECK(forward, "the module has no method 'forward'");
    return forward->function().getSchema();
  }

  /// `calls` in a row, or until attributes lie in memory as they did before; the result of the last
  /// one.
  c10::IValue run_forward(const std::vector<at::Tensor>& inputs, at::Device device,
                          const char* stage, int calls = 1) {
    int64_t done = 0;
    ScriptInterpreter interpreter(
        module_, device,
        [&] {
          if (options_.progress) options_.progress(stage, ++done, 0);
        },
        &copies_);
    const std::vector<c10::IValue> arguments = inputs_.arguments(inputs);
    running_ = &interpreter;
    const auto done_running = c10::make_scope_exit([this] { running_ = nullptr; });
    const auto note_numbers = c10::make_scope_exit([&] {
      for (const std::string& name : interpreter.changing_numbers()) changing_.push_back(name);
      changes_form_ = changes_form_ || !interpreter.state().changing_forms().empty();
    });
    c10::IValue result;
    std::set<std::string> layouts;
    layouts_recur_ = false;
    for (int i = 0; i < calls && !layouts_recur_; ++i) {
      copies_.begin(device);
      const auto ended = c10::make_scope_exit([this] { copies_.end(); });
      result = interpreter.run_forward(arguments);
      copies_changed_ = copies_changed_ || copies_.changed();
      layouts_recur_ = calls > 1 && !layouts.insert(interpreter.layout()).second;
    }
    notes_ = interpreter.notes();
    if (device.is_lazy()) {
      note_run(interpreter, inputs);
    } else {
      relaid_ = interpreter.state().relaid();
    }
    if (interface_ && interface_->empty()) {
      *interface_ = interface_json(forward_schema(), arguments, result);
    }
    return result;
  }

  /// What the last run has asked and written.
  void note_run(const ScriptInterpreter& interpreter, const std::vector<at::Tensor>& inputs) {
    questions_ = interpreter.questions();
    read_constants_ = interpreter.state().read_constants();
    only_set_ = interpreter.state().only_set();
    set_names_ = interpreter.state().set_names();
    read_names_ = interpreter.state().read_names();
    const auto& made_one = interpreter.state().made_one();
    made_one_.assign(made_one.begin(), made_one.end());
    const auto& written = interpreter.state().written_in_place();
    written_in_place_.assign(written.begin(), written.end());
    written_constants_ = interpreter.written_constants();
    written_inputs_.clear();
    for (size_t i = 0; i < inputs.size(); ++i) {
      if (was_written(inputs[i])) written_inputs_.push_back(inputs_.tensors()[i].name);
    }
  }

  /// What other traces of the program have to know of its attributes. In a phase, their forms are
  /// known and their tensors are states.
  void note_attributes(Trace& trace) const {
    trace.made_one = made_one_;
    trace.written_in_place = written_in_place_;
    trace.read_names = read_names_;
    trace.layouts_matter = copies_.matter();
    if (module_.phase()) return;
    trace.set_names = set_names_;
    for (const std::string& name : read_constants_) trace.asked.push_back({name, {}});
    trace.only_set = only_set_;
    const auto& numbers = module_.kept_numbers();  // a state that nothing reads may be left out
    trace.only_set.insert(trace.only_set.end(), numbers.begin(), numbers.end());
  }

  InputDemands demands(const Trace& trace) const {
    std::vector<std::string> all, floating;
    for (const NamedTensor& input : inputs_.tensors()) {
      all.push_back(input.name);
      if (at::isFloatingType(input.tensor.scalar_type())) floating.push_back(input.name);
    }
    InputDemands demands;
    if (questions_.strides || copies_.depend_on_strides()) demands.contiguous = all;
    if (questions_.strides_by_dim) demands.strides = all;
    if (questions_.place) demands.whole = all;
    if (questions_.gradients) demands.detached = floating;
    if (questions_.identity) demands.distinct = all;
    if (questions_.other) demands.plain = all;
    demands.written = written_inputs_;
    demands.no_grad = questions_.gradient_mode && !trace.takes_gradients;
    return demands;
  }

  void refuse_written_constants(Trace& trace) const {
    for (const Source& source : written_constants_) {
      trace.findings.push_back(
          {Severity::kError, "changing-attribute",
           "the program writes in place into a constant of its graph, and later calls read it: the "
           "bundle would repeat its first call",
           "register_buffer() the tensor before torch.jit.trace, or clone() it", source});
    }
  }

  /// Without gradients of its own the program throws where none are recorded: there is one mode.
  void note_gradient_mode(Trace& trace) const {
    if (questions_.gradient_mode && !trace.takes_gradients) {
      if (interface_) {
        trace.notes.push_back(std::string(kAsksForGradients) + " (" +
                              questions_.gradient_mode->text() +
                              "): the bundle gives what it gives under torch.no_grad(), and "
                              "lazyrt.load's program refuses calls outside of it");
        return;
      }
      trace.findings.push_back(
          {Severity::kError, "gradient-mode",
           std::string(kAsksForGradients) + ", and the bundle gives what it gives under no_grad",
           "decide by an argument, not by whether gradients are enabled",
           *questions_.gradient_mode});
      return;
    }
    if (!questions_.torch_asks) return;
    const auto run = [this](const std::vector<at::Tensor>& inputs) {
      return run_in_eager(copy_of(module_.module()), inputs_.arguments(inputs));
    };
    if (!find_gradient_mode(inputs_.tensors(), run)) return;
    trace.notes.push_back(
        "torch.nn's transformers give other results under no_grad than with autograd on, at "
        "padded places or where attention sees nothing: the bundle gives the former");
  }

  /// A number that counts on and steers the program: no guard on it would hold twice.
  void refuse_guards_on_numbers(Trace& trace) {
    const auto& kept = module_.kept_numbers();
    for (const std::string& name : kept) {
      if (!guards_on(trace, {name}).empty()) steering_.push_back(name);
    }
    for (const Source& source : guards_on(trace, steering_)) {
      trace.findings.push_back(
          {Severity::kError, "changing-attribute",
           "the program's path depends here on a number that it keeps in an attribute and changes "
           "in each call: the bundle would be right for its first call only",
           "keep it as a tensor, and decide by tensor arithmetic (torch.where)", source});
    }
  }

  std::vector<at::Tensor> cloned_inputs() const {
    std::vector<at::Tensor> inputs;
    for (const NamedTensor& input : inputs_.tensors()) inputs.push_back(input.tensor.clone());
    return inputs;
  }

  c10::IValue run_on_cpu(bool gradients, int calls = 1) {
    const at::AutoGradMode mode(gradients);
    return run_forward(cloned_inputs(), at::kCPU, "samples", calls);
  }

  /// Attributes may lie in memory otherwise from call to call, until they lie as they did before.
  void refuse_changing_copies(Trace& trace) {
    if (module_.buffers().empty()) return;
    copies_changed_ = false;
    run_on_cpu(trace.takes_gradients, kMostInARow);
    if (!copies_changed_ && layouts_recur_) return;
    trace.findings.push_back(
        {Severity::kError, "shared-memory",
         "whether contiguous, reshape, flatten or to copies changes from call to call, with the "
         "strides of what the program keeps in its attributes, and it writes there or asks for "
         "strides: the bundle would behave as in its first call",
         "clone() what is written, or keep it contiguous()", Source()});
  }

  void add_sample_outputs(Trace& trace) {
    for (const NamedValue& out : flatten_outputs(run_on_cpu(trace.takes_gradients), "out")) {
      const bool tensor = out.value.isTensor() && out.value.toTensor().defined();
      trace.sample_outputs.push_back(tensor ? to_sample(out.value.toTensor()) : SampleTensor{});
    }
  }

  const TorchScriptOptions& options_;
  const torch::jit::Module file_;
  std::string* const interface_;
  ScriptModule module_;
  const ScriptInputs inputs_;
  ProgramOutputs outputs_;
  Copies copies_;
  bool copies_changed_ = false;  ///< from call to call
  bool layouts_recur_ = false;   ///< of the attributes, in the last row of calls
  std::vector<std::string> notes_;
  ScriptQuestions questions_;
  std::vector<Source> written_constants_;
  std::vector<std::string> written_inputs_;
  /// See ScriptState; of the last run.
  std::vector<std::string> read_constants_, only_set_, made_one_, written_in_place_, set_names_,
      read_names_;
  std::vector<std::string> relaid_;    ///< of the last run on the CPU
  std::vector<std::string> changing_;  ///< numbers: see ScriptInterpreter::changing_numbers()
  std::vector<std::string> steering_;  ///< numbers that are kept and decide the path
  bool changes_form_ = false;          ///< an attribute: see ScriptState::changing_forms()
  ScriptInterpreter* running_ = nullptr;
};

}  // namespace

ScriptCapture capture_script(const torch::jit::Module& file, ScriptModule module,
                             const TorchScriptOptions& options,
                             const std::vector<std::string>& varying) {
  ScriptCapture made;
  TorchScriptCapture capture(file, std::move(module), options,
                             options.interface ? &made.interface : nullptr);
  made.trace = capture.run(varying);
  capture.describe(&made);
  return made;
}

}  // namespace lazyrt
