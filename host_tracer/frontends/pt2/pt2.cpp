#include "host_tracer/frontends/pt2/pt2.h"

#include <ATen/ATen.h>
#include <c10/util/ScopeExit.h>

#include <algorithm>
#include <unordered_set>

#include "host_tracer/frontends/pt2/archive.h"
#include "host_tracer/frontends/pt2/interpreter.h"
#include "host_tracer/frontends/pt2/signature.h"
#include "host_tracer/frontends/pt2/size_guards.h"
#include "host_tracer/frontends/shared/clone_in_place.h"
#include "host_tracer/frontends/shared/eager_run.h"
#include "host_tracer/frontends/shared/failures.h"
#include "host_tracer/frontends/shared/given_tensor.h"
#include "host_tracer/frontends/shared/interface.h"
#include "host_tracer/record/capture.h"

namespace lazyrt {
namespace {

namespace ex = torch::_export;
using Kind = Pt2Placeholder::Kind;

std::string join(const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines) text += "\n  " + line;
  return text;
}

/// What the graph says about an input.
struct ExpectedInput {
  at::ScalarType dtype;
  std::vector<std::optional<int64_t>> sizes;  ///< nullopt: dynamic
};

std::string sizes_text(const ExpectedInput& expected) {
  std::string text;
  for (const auto& size : expected.sizes) {
    text += (text.empty() ? "" : ",") + (size ? std::to_string(*size) : "*");
  }
  return "[" + text + "]";
}

class Pt2Capture {
 public:
  Pt2Capture(const std::string& path, const Pt2Options& options)
      : options_(options), archive_(path), signature_(read_signature(archive_.program())) {}

  Outcome<Trace> run() {
    check_supported();
    report("read", 0, 1);
    tensors_ = archive_.tensors();
    collect_request();
    check_guards();
    report("read", 1, 1);
    Outcome<Trace> trace = trace_graph();
    if (copies_.matter()) {
      run_on_cpu();
      trace = trace_graph();
    }
    if (!trace.ok()) return trace;
    finish_outputs(*trace);
    describe_interface(*trace);
    trace->producer = "torch.export " + archive_.program().get_torch_version();
    for (const std::string& guard : unknown_guards_) {
      trace->notes.push_back("a guard of the .pt2 on sizes is not checked: " + guard);
    }
    if (options_.sample_outputs) add_sample_outputs(*trace);
    return trace;
  }

  /// A call on the CPU, from what the last one has left or, with `reset`, from the file's state.
  EagerRun call_eagerly(const std::vector<SampleTensor>& samples, bool reset) {
    if (reset) kept_.clear();
    const auto place = [this](const Pt2Placeholder& p) {
      const auto [kept, is_new] = kept_.try_emplace(p.target);
      if (is_new) kept->second = placed(p, at::kCPU);
      return kept->second;
    };
    return eager_run_in_order([&] {
      Copies copies;
      return run_graph(cloned_inputs(samples), at::kCPU, place, &copies, [] {});
    });
  }

 private:
  const ex::Graph& graph() const { return archive_.program().get_graph_module().get_graph(); }

  void report(const char* stage, int64_t done, int64_t total) const {
    if (options_.progress) options_.progress(stage, done, total);
  }

  void check_supported() const {
    const auto lines = unsupported_nodes(graph());
    TORCH_CHECK(lines.empty(), "the program has nodes that cannot be captured:", join(lines));
    const std::vector<Pt2Dim> dims = dynamic_dims(archive_.program(), signature_);
    std::vector<std::string> texts;
    for (const Pt2Dim& dim : dims) texts.push_back(dim_text(dim));
    TORCH_CHECK(dims.empty() || options_.static_shapes,
                "the program has dynamic dims:", join(texts),
                "\na trace has one size for each (static_shapes, --static)");
    if (options_.dims) *options_.dims = dims;
  }

  // ------------------------------------------------------------ inputs

  ExpectedInput expected(const std::string& name) const {
    const auto meta = graph().get_tensor_values().find(name);
    TORCH_CHECK(meta != graph().get_tensor_values().end(), "the file does not describe input '",
                name, "'");
    ExpectedInput result;
    result.dtype = scalar_type_of(meta->second.get_dtype(), "input '" + name + "'");
    for (const ex::SymInt& size : meta->second.get_sizes()) {
      const bool fixed = size.tag() == ex::SymInt::Tag::AS_INT;
      result.sizes.push_back(fixed ? std::optional(size.get_as_int()) : std::nullopt);
    }
    return result;
  }

  void check_input(const NamedTensor& input) const {
    const ExpectedInput want = expected(input.name);
    TORCH_CHECK_VALUE(input.tensor.scalar_type() == want.dtype, "input '", input.name, "' is ",
                      input.tensor.scalar_type(), ", the program was exported for ", want.dtype);
    bool fits = input.tensor.dim() == static_cast<int64_t>(want.sizes.size());
    for (size_t d = 0; fits && d < want.sizes.size(); ++d) {
      fits = !want.sizes[d] || *want.sizes[d] == input.tensor.size(static_cast<int64_t>(d));
    }
    TORCH_CHECK_VALUE(fits, "input '", input.name, "' has shape ", input.tensor.sizes(),
                      ", the program was exported for ", sizes_text(want));
  }

  /// The file's samples by placeholder index; undefined where there is none.
  std::vector<at::Tensor> file_samples(std::string* why) {
    std::vector<c10::IValue> leaves;
    flatten(archive_.sample_inputs(why), leaves);
    std::vector<at::Tensor> samples(signature_.placeholders.size());
    size_t next = 0;
    for (size_t i = 0; i < samples.size(); ++i) {
      const Kind kind = signature_.placeholders[i].kind;
      if (kind != Kind::kInput && kind != Kind::kNumber) continue;
      if (next < leaves.size() && leaves[next].isTensor()) samples[i] = leaves[next].toTensor();
      ++next;
    }
    if (next != leaves.size() && why->empty()) {
      *why = "the file's sample inputs do not fit its signature";
      return std::vector<at::Tensor>(samples.size());
    }
    return samples;
  }

  const GivenInput* given(const std::string& name) const {
    for (const GivenInput& input : options_.inputs) {
      if (input.name == name) return &input;
    }
    return nullptr;
  }

  void check_given_names() const {
    std::vector<std::string> names;
    for (const Pt2Placeholder& p : signature_.placeholders) {
      if (p.kind == Kind::kInput) names.push_back(p.name);
    }
    for (const GivenInput& input : options_.inputs) {
      TORCH_CHECK_VALUE(std::find(names.begin(), names.end(), input.name) != names.end(),
                        "the program has no input '", input.name, "'; it has:", join(names));
    }
  }

  void add_input(const Pt2Placeholder& p, const at::Tensor& sample, const std::string& why) {
    const GivenInput* override_by = given(p.name);
    TORCH_CHECK_VALUE(override_by || sample.defined(), "no value for input '", p.name,
                      "': ", why.empty() ? "the file holds no sample for it" : why,
                      "; give one with --input ", p.name, "=FILE.npy");
    const at::Tensor value = override_by ? given_tensor(*override_by) : sample;
    TORCH_CHECK_VALUE(value.is_contiguous() || !asks_for_strides(graph()), "input '", p.name,
                      "' of the file's sample is not contiguous, and the program asks for strides: "
                      "a bundle always has contiguous inputs. Export it with x.contiguous()");
    request_.inputs.push_back({p.name, value.detach().contiguous()});
    check_input(request_.inputs.back());
  }

  void collect_request() {
    check_given_names();
    std::string why;
    const std::vector<at::Tensor> samples = file_samples(&why);
    for (size_t i = 0; i < samples.size(); ++i) {
      const Pt2Placeholder& p = signature_.placeholders[i];
      if (p.kind == Kind::kInput) add_input(p, samples[i], why);
      if (p.kind == Kind::kInput || p.kind == Kind::kNumber) continue;
      const auto found = tensors_.find(p.target);
      TORCH_CHECK(found != tensors_.end(), "the file lacks the tensor '", p.target, "'");
      if (p.kind == Kind::kParameter) request_.parameters.push_back({p.target, found->second});
      // A tensor that is not a buffer may be written as well, and read again in the next run.
      const bool fits = to_dtype(found->second.scalar_type()) != DType::kNone;
      if (p.kind == Kind::kBuffer || (p.kind == Kind::kConstant && fits)) {
        request_.buffers.push_back({p.target, found->second});
      }
    }
  }

  /// Checks what torch.export assumed about the inputs' sizes.
  void check_guards() {
    const auto size_of = [this](const std::string& name, int64_t dim) -> std::optional<int64_t> {
      for (const NamedTensor& input : request_.inputs) {
        if (input.name != name || dim < 0 || dim >= input.tensor.dim()) continue;
        return input.tensor.size(dim);
      }
      return std::nullopt;
    };
    for (const std::string& guard : archive_.program().get_guards_code()) {
      const std::optional<bool> holds = guard_holds(guard, size_of);
      TORCH_CHECK_VALUE(holds.value_or(true), "the .pt2 was exported for sizes where ", guard,
                        ", which these are not");
      if (!holds) unknown_guards_.push_back(guard);
    }
  }

  // ------------------------------------------------------------ running

  /// On the CPU buffers and constants are copies: a run may write into them, and the trace has
  /// their bytes.
  at::Tensor placed(const Pt2Placeholder& p, at::Device device) const {
    const at::Tensor& t = tensors_.at(p.target);
    if (!device.is_cpu()) return lazyrt::lift(t);
    return p.kind == Kind::kParameter ? t : clone_in_place(t);
  }

  using Place = std::function<at::Tensor(const Pt2Placeholder&)>;

  std::vector<c10::IValue> run_graph(const std::vector<at::Tensor>& inputs, at::Device device,
                                     const char* stage) const {
    const auto total = static_cast<int64_t>(graph().get_nodes().size());
    int64_t done = 0;
    return run_graph(
        inputs, device, [&](const Pt2Placeholder& p) { return placed(p, device); }, &copies_,
        [&] { report(stage, ++done, total); });
  }

  std::vector<c10::IValue> run_graph(const std::vector<at::Tensor>& inputs, at::Device device,
                                     const Place& place, Copies* copies,
                                     const std::function<void()>& on_node) const {
    std::vector<c10::IValue> values;
    size_t next = 0;
    for (const Pt2Placeholder& p : signature_.placeholders) {
      if (p.kind == Kind::kInput) {
        values.emplace_back(inputs[next++]);
      } else if (p.kind == Kind::kNumber) {
        values.push_back(p.number);
      } else {
        values.emplace_back(place(p));
      }
    }
    const std::vector<uint32_t> writes = writes_without_state(values);
    copies->begin(device);
    const auto ended = c10::make_scope_exit([copies] { copies->end(); });
    Pt2Interpreter interpreter(device, on_node, copies);
    std::vector<c10::IValue> results = interpreter.run(graph(), values);
    if (device.is_cpu()) refuse_writes_without_state(values, writes);
    return write_back(std::move(results), values);
  }

  /// How often plain tensors of types that states do not have, as complex numbers, were written.
  std::vector<uint32_t> writes_without_state(const std::vector<c10::IValue>& values) const {
    std::vector<uint32_t> counts(values.size());
    for (size_t i = 0; i < values.size(); ++i) {
      if (signature_.placeholders[i].kind != Kind::kConstant || !values[i].isTensor()) continue;
      const at::Tensor& t = values[i].toTensor();
      if (t.device().is_cpu() && to_dtype(t.scalar_type()) == DType::kNone)
        counts[i] = t._version();
    }
    return counts;
  }

  void refuse_writes_without_state(const std::vector<c10::IValue>& values,
                                   const std::vector<uint32_t>& before) const {
    const std::vector<uint32_t> now = writes_without_state(values);
    for (size_t i = 0; i < values.size(); ++i) {
      TORCH_CHECK(now[i] == before[i], "the program writes into the tensor '",
                  signature_.placeholders[i].target, "', which is ",
                  values[i].toTensor().scalar_type(),
                  ": a bundle cannot keep this type from call to call; keep its real and imaginary "
                  "parts in buffers");
    }
  }

  /// Writes the new values of placeholders into them; returns the others, which are the program's
  /// results.
  std::vector<c10::IValue> write_back(std::vector<c10::IValue> outputs,
                                      const std::vector<c10::IValue>& placeholders) const {
    std::vector<c10::IValue> results;
    for (size_t i = 0; i < outputs.size(); ++i) {
      if (const auto written = signature_.outputs[i].written) {
        placeholders[*written].toTensor().copy_(outputs[i].toTensor());
      } else {
        results.push_back(std::move(outputs[i]));
      }
    }
    return results;
  }

  Outcome<Trace> trace_graph() {
    request_.output_names.clear();
    demands_.written.clear();
    for (size_t i = 0; i < signature_.outputs.size(); ++i) {
      const Pt2Output& out = signature_.outputs[i];
      if (out.written) continue;
      // Names of tensors only: capture knows no other outputs.
      if (graph().get_outputs()[i].tag() == ex::Argument::Tag::AS_TENSOR) {
        request_.output_names.push_back(out.name);
      }
    }
    return capture(request_, [this](const std::vector<at::Tensor>& inputs) {
      std::vector<at::Tensor> tensors;
      outputs_ = run_graph(inputs, capture_device(), "trace");
      for (size_t i = 0; i < inputs.size(); ++i) {
        if (was_written(inputs[i])) demands_.written.push_back(request_.inputs[i].name);
      }
      for (c10::IValue& value : outputs_) {
        if (!value.isTensor()) continue;
        tensors.push_back(value.toTensor());
        value = at::Tensor();  // no lazy tensor outlives the capture
      }
      return tensors;
    });
  }

  /// Puts numbers among the outputs back in their places; None is left out.
  void finish_outputs(Trace& trace) const {
    std::vector<TraceOutput> outputs;
    size_t next = 0;
    for (size_t i = 0; i < outputs_.size(); ++i) {
      if (outputs_[i].isTensor()) {
        outputs.push_back(trace.outputs[next++]);
        continue;
      }
      const c10::IValue& value = outputs_[i];
      if (value.isNone()) {
        trace.notes.push_back("output " + std::to_string(i) + " is None and left out");
        continue;
      }
      TraceOutput out;
      if (value.isBool()) out.literal = value.toBool();
      if (value.isInt()) out.literal = value.toInt();
      if (value.isDouble()) out.literal = value.toDouble();
      TORCH_CHECK(out.literal, "output ", i, " is a ", value.tagKind(),
                  "; outputs can be tensors, numbers and None");
      outputs.push_back(std::move(out));
    }
    // One value may be returned twice.
    std::unordered_set<std::string> taken;
    for (size_t i = 0; i < outputs.size(); ++i) {
      std::string& name = outputs[i].name;
      const std::string base = name.empty() ? "output_" + std::to_string(i) : name;
      name = base;
      for (int k = 1; !taken.insert(name).second; ++k) name = base + "_" + std::to_string(k);
    }
    trace.outputs = std::move(outputs);
  }

  /// Callers of a .pt2's bundle pass and get tensors in order; the interface is described only if
  /// there is more to say.
  void describe_interface(const Trace& trace) {
    if (!options_.interface) return;
    std::vector<std::string> names;
    for (const NamedTensor& input : request_.inputs) names.push_back(input.name);
    if (asks_for_strides(graph())) demands_.contiguous = demands_.whole = names;
    if (copies_.depend_on_strides()) demands_.contiguous = names;
    const bool numbers =
        std::any_of(trace.outputs.begin(), trace.outputs.end(),
                    [](const TraceOutput& out) { return out.literal.has_value(); });
    const bool more = numbers || !demands_.contiguous.empty() || !demands_.written.empty();
    if (options_.interface->empty() && more) {
      *options_.interface = flat_interface_json(names, trace.outputs);
    }
    if (!options_.interface->empty()) add_demands(demands_, options_.interface);
  }

  std::vector<c10::IValue> run_on_cpu() const {
    const at::NoGradGuard no_grad;
    std::vector<at::Tensor> inputs;
    for (const NamedTensor& input : request_.inputs) inputs.push_back(input.tensor.clone());
    return run_graph(inputs, at::kCPU, "samples");
  }

  void add_sample_outputs(Trace& trace) const {
    for (const c10::IValue& value : run_on_cpu()) {
      if (value.isNone()) continue;
      trace.sample_outputs.push_back(value.isTensor() && value.toTensor().defined()
                                         ? to_sample(value.toTensor())
                                         : SampleTensor{});
    }
  }

  const Pt2Options options_;
  Pt2Archive archive_;
  Pt2Signature signature_;
  std::unordered_map<std::string, at::Tensor> tensors_;
  std::unordered_map<std::string, at::Tensor> kept_;  ///< of the calls since the last reset
  CaptureRequest request_;
  InputDemands demands_;
  std::vector<std::string> unknown_guards_;
  mutable Copies copies_;
  std::vector<c10::IValue> outputs_;  ///< the results of the run that was captured
};

std::shared_ptr<const EagerReference> reference_of(const std::shared_ptr<Pt2Capture>& program) {
  auto reference = std::make_shared<EagerReference>();
  reference->may_be_foreign = true;
  reference->call = [program](const std::vector<SampleTensor>& samples, bool reset) {
    return program->call_eagerly(samples, reset);
  };
  return reference;
}

}  // namespace

Outcome<Trace> capture_pt2(const std::string& path, const Pt2Options& options) {
  return failures_of_file(path, [&]() -> Outcome<Trace> {
    try {
      const auto program = std::make_shared<Pt2Capture>(path, options);
      Outcome<Trace> trace = program->run();
      if (trace.ok()) trace->eager = reference_of(program);
      return trace;
    } catch (const Pt2FileError& e) {
      return Failure{Error::kInvalidBundle, e.what_without_backtrace()};
    }
  });
}

}  // namespace lazyrt
