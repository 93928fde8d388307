#include "host_tracer/frontends/cpp/trace.h"

#include <ATen/ATen.h>
#include <c10/util/ScopeExit.h>
#include <torch/version.h>

#include <algorithm>
#include <set>
#include <utility>

#include "host_tracer/frontends/shared/eager_run.h"
#include "host_tracer/frontends/shared/gradient_mode.h"
#include "host_tracer/frontends/shared/program_outputs.h"
#include "host_tracer/record/buffer_mode.h"
#include "host_tracer/trace/allow.h"

namespace lazyrt {
namespace {

constexpr char kAdvice[] =
    " (a CPU tensor that the program makes and then writes into has to be made on the inputs' "
    "device: torch::zeros(sizes, x.options()); what has to last from run to run must be a buffer: "
    "register_buffer)";

CaptureRequest request_of(const CppProgram& program, const std::vector<at::Tensor>& inputs,
                          const TraceOptions& options) {
  CaptureRequest request;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const bool named = i < options.input_names.size();
    request.inputs.push_back({named ? options.input_names[i] : "x" + std::to_string(i), inputs[i]});
    TORCH_CHECK_VALUE(inputs[i].defined(), "input '", request.inputs.back().name,
                      "' is an undefined tensor");
  }
  request.parameters = program.parameters;
  request.buffers = program.buffers;
  return request;
}

constexpr std::string_view kTransposed = ".T";

std::string module_of(std::string parameter) {
  if (parameter.ends_with(kTransposed)) parameter.resize(parameter.size() - kTransposed.size());
  const size_t dot = parameter.rfind('.');
  return dot == std::string::npos ? "" : parameter.substr(0, dot);
}

/// C++ does not say which module runs: a node that reads a module's parameter is assigned to that
/// module.
void name_modules(Trace& trace) {
  for (TraceNode& node : trace.nodes) {
    if (!node.source.module_path.empty()) continue;
    for (const auto& [name, arg] : node.args) {
      const auto* tensor = std::get_if<TensorArg>(&arg);
      if (!tensor || tensor->value == kNoTraceValue) continue;
      const TraceValue& value = trace.values[static_cast<size_t>(tensor->value)];
      if (value.leaf != LeafKind::kParameter && value.leaf != LeafKind::kBuffer) continue;
      node.source.module_path = module_of(value.name);
      break;
    }
  }
}

void add_sample_outputs(const CppProgram& program, const std::vector<at::Tensor>& inputs,
                        Trace& trace) {
  const at::AutoGradMode mode(trace.takes_gradients);
  std::vector<at::Tensor> copies;
  for (const at::Tensor& input : inputs) copies.push_back(input.detach().clone());
  for (const NamedValue& out : flatten_outputs(program.run(copies), "out")) {
    const bool tensor = out.value.isTensor() && out.value.toTensor().defined();
    trace.sample_outputs.push_back(tensor ? to_sample(out.value.toTensor()) : SampleTensor{});
  }
}

/// Runs the program on the buffers' contents of the export or of the last call, which are kept
/// apart: after each call the buffers are as they were.
class CppReference {
 public:
  CppReference(CppProgram program, const Trace& trace)
      : program_(std::move(program)),
        names_(output_names(trace)),
        gradients_(trace.takes_gradients) {
    for (const NamedTensor& named : program_.buffers) first_.push_back(named.tensor.clone());
    last_ = first_;
  }

  EagerRun call(const std::vector<SampleTensor>& samples, bool reset) {
    std::vector<at::Tensor> before;
    for (const NamedTensor& named : program_.buffers) before.push_back(named.tensor.clone());
    write(reset ? first_ : last_);
    EagerRun run =
        eager_run(names_, gradients_, [&] { return program_.run(cloned_inputs(samples)); });
    last_.clear();
    for (const NamedTensor& named : program_.buffers) last_.push_back(named.tensor.clone());
    write(before);
    return run;
  }

 private:
  void write(const std::vector<at::Tensor>& contents) const {
    const at::NoGradGuard no_grad;
    for (size_t i = 0; i < contents.size(); ++i) {
      const at::Tensor& buffer = program_.buffers[i].tensor;
      if (!at::equal(buffer, contents[i])) buffer.copy_(contents[i]);
    }
  }

  const CppProgram program_;
  const std::vector<std::string> names_;
  const bool gradients_;
  std::vector<at::Tensor> first_, last_;
};

/// Code in C++ does not tell its numbers.
std::vector<std::vector<int64_t>> extents_in(const CppProgram& program) {
  std::set<int64_t> found;
  for (const auto* list : {&program.parameters, &program.buffers}) {
    for (const NamedTensor& named : *list) {
      const auto sizes = named.tensor.sizes();
      found.insert(sizes.begin(), sizes.end());
    }
  }
  return {{}, {found.begin(), found.end()}};
}

std::shared_ptr<const EagerReference> reference_of(const CppProgram& program, const Trace& trace) {
  auto kept = std::make_shared<CppReference>(program, trace);
  auto reference = std::make_shared<EagerReference>();
  reference->call = [kept](const std::vector<SampleTensor>& samples, bool reset) {
    return kept->call(samples, reset);
  };
  reference->takes_other_samples = true;
  reference->numbers = [program] { return extents_in(program); };
  return reference;
}

Failure explained(Failure failure) {
  if (failure.text.find("non-functional tensor") != std::string::npos) failure.text += kAdvice;
  return failure;
}

/// Puts buffers back that a run of the program has changed.
class KeepBuffers {
 public:
  explicit KeepBuffers(const std::vector<NamedTensor>& buffers) {
    for (const NamedTensor& named : buffers) {
      saved_.push_back({named.tensor, named.tensor.clone()});
    }
  }
  ~KeepBuffers() { restore(); }
  KeepBuffers(const KeepBuffers&) = delete;
  KeepBuffers& operator=(const KeepBuffers&) = delete;

  void restore() {
    const at::NoGradGuard no_grad;
    // Versions do not show this: norms write their statistics without changing them.
    for (const Saved& saved : saved_) {
      if (!at::equal(saved.buffer, saved.copy)) saved.buffer.copy_(saved.copy);
    }
  }

 private:
  struct Saved {
    at::Tensor buffer;
    at::Tensor copy;
  };
  std::vector<Saved> saved_;
};

/// Watches the program's object after each call. A change by the first call only counts as settled.
class MemberWatch {
 public:
  explicit MemberWatch(const CppProgram& program) : program_(program) {}

  void look(std::vector<Source> writes) {
    before_ = std::exchange(now_, program_.picture ? program_.picture() : "");
    writes_ = std::move(writes);
    ++calls_;
  }

  void report(Trace& trace) const {
    report_writes(trace);
    if (calls_ < 2 || before_ == now_) return;
    const bool told = std::any_of(trace.findings.begin(), trace.findings.end(), [](const auto& f) {
      return f.id == "changing-attribute" || f.id == "unstable-program";
    });
    if (told) return;
    trace.findings.push_back(
        {Severity::kError,
         "changing-attribute",
         "every call changes a member of the program's object (" + place() +
             "): LazyRT cannot see in C++ which member it is, nor whether a later call reads it",
         "keep it in a registered buffer, make it an input, or allow this if nothing reads it",
         {}});
  }

 private:
  void report_writes(Trace& trace) const {
    std::set<std::string> known;
    for (const Source& source : writes_) {
      if (!known.insert(source.text()).second) continue;
      trace.findings.push_back(
          {Severity::kError, "changing-attribute",
           "every call writes in place into a CPU tensor that an earlier call made and that is not "
           "a registered buffer: the bundle would repeat its first call",
           "register_buffer() it, or allow this if no later call reads it", source});
    }
  }

  std::string place() const {
    const auto parted = std::mismatch(now_.begin(), now_.end(), before_.begin());
    return "at byte " + std::to_string(parted.first - now_.begin()) + " of its " +
           std::to_string(now_.size());
  }

  const CppProgram& program_;
  std::string before_, now_;
  std::vector<Source> writes_;  ///< of the last call
  int calls_ = 0;
};

/// Runs that record gradients leave no trace of them in buffers.
void refuse_gradient_mode(const CppProgram& program, const CaptureRequest& request,
                          KeepBuffers& buffers, Trace& trace) {
  auto finding = find_gradient_mode(request.inputs, [&](const std::vector<at::Tensor>& inputs) {
    const auto put_back = c10::make_scope_exit([&] {
      for (const NamedTensor& named : program.buffers) {
        if (named.tensor.grad_fn()) named.tensor.detach_();
      }
      buffers.restore();
    });
    return program.run(inputs);
  });
  if (finding) trace.findings.push_back(std::move(*finding));
}

bool is_arity_error(const std::exception_ptr& thrown) {
  try {
    if (thrown) std::rethrow_exception(thrown);
  } catch (const cpp_detail::ArityError&) {
    return true;
  } catch (...) {
    return false;
  }
  return false;
}

Outcome<Trace> capture_program(const CppProgram& program, const std::vector<at::Tensor>& inputs,
                               const TraceOptions& options) {
  ProgramOutputs outputs;
  KeepBuffers buffers(program.buffers);
  std::exception_ptr thrown;
  CaptureRequest request = request_of(program, inputs, options);
  request.before_trace = [&] { buffers.restore(); };
  request.thrown = &thrown;
  request.keeps_nothing = true;
  request.may_catch = true;
  MemberWatch members(program);
  auto trace = capture_checked(
      request,
      [&](const std::vector<at::Tensor>& x) {
        const BufferMode mode;
        auto values = outputs.take(flatten_outputs(program.run(x), "out"));
        members.look(mode.writes_outside());
        return values;
      },
      options.check);
  if (!trace.ok() && is_arity_error(thrown)) {
    return Failure{Error::kInvalidArgument, trace.failure().text};
  }
  if (!trace.ok()) return explained(trace.failure());
  outputs.put_back(*trace);
  members.report(*trace);
  LAZYRT_TRY(allow_findings(*trace, options.check.allow));
  name_modules(*trace);
  trace->producer = "C++, torch " TORCH_VERSION;
  trace->notes.push_back(
      "state was looked for in registered buffers, CPU tensors and the bytes of the program's "
      "object, not in what it points to, in statics or in plain members of submodules");
  if (verdict_of(*trace) == Verdict::kBroken) return trace;  // eager may trip over the same thing
  if (options.sample_outputs) add_sample_outputs(program, inputs, *trace);
  buffers.restore();
  refuse_gradient_mode(program, request, buffers, *trace);
  LAZYRT_TRY(allow_findings(*trace, options.check.allow));
  if (options.keep_program) trace->eager = reference_of(program, *trace);
  return trace;
}

}  // namespace

Outcome<Trace> trace_program(const CppProgram& program, const std::vector<at::Tensor>& inputs,
                             const TraceOptions& options) {
  try {
    return capture_program(program, inputs, options);
  } catch (const c10::ValueError& e) {
    return Failure{Error::kInvalidArgument, e.what_without_backtrace()};
  } catch (const c10::Error& e) {
    return Failure{Error::kUnsupported, e.what_without_backtrace()};
  } catch (const std::exception& e) {
    return Failure{Error::kUnsupported, e.what()};
  }
}

CppProgram program_of(const torch::nn::Module& module) {
  CppProgram program;
  for (const auto& named : module.named_parameters()) {
    if (!named.value().defined()) continue;
    const at::Tensor value = named.value().detach();
    program.parameters.push_back({named.key(), value});
    if (value.dim() == 2) program.parameters.push_back({named.key() + ".T", value.t()});
  }
  for (const auto& named : module.named_buffers()) {
    if (named.value().defined()) program.buffers.push_back({named.key(), named.value()});
  }
  return program;
}

Source source_here(std::string module_path, std::source_location where) {
  Source source;
  source.module_path = std::move(module_path);
  source.file = where.file_name();
  source.line = static_cast<int>(where.line());
  return source;
}

}  // namespace lazyrt
