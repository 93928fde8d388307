#include "host_tracer/record/trace_eval.h"

#include <ATen/ATen.h>

#include <cmath>
#include <limits>

#include "host_tracer/record/capture.h"
#include "host_tracer/record/eager_call.h"
#include "host_tracer/trace/operands.h"

namespace lazyrt {
namespace {

class Evaluator {
 public:
  Evaluator(const Trace& trace, const TraceEvalOptions& options)
      : trace_(trace), options_(options), tensors_(trace.values.size()) {
    count_uses();
  }

  void set(TraceValueId id, at::Tensor t) { tensors_[static_cast<size_t>(id)] = std::move(t); }

  at::Tensor get(TraceValueId id) {
    at::Tensor& t = tensors_[static_cast<size_t>(id)];
    const TraceValue& value = trace_.values[static_cast<size_t>(id)];
    if (t.defined() || value.leaf == LeafKind::kNotLeaf || value.leaf == LeafKind::kInput) return t;
    t = from_sample({value.dtype, value.shape, value.constant});
    if (value.wrapped_number) {
      t.unsafeGetTensorImpl()->set_wrapped_number(true);
    } else if (at::isFloatingType(t.scalar_type())) {
      if (options_.change_leaf) t = options_.change_leaf(t);
      if (options_.in_double) t = t.to(at::kDouble);
    }
    return t;
  }

  std::vector<at::Tensor> take_values() { return std::move(tensors_); }

  void run() {
    for (size_t i = 0; i < trace_.nodes.size(); ++i) {
      run_node(trace_.nodes[i]);
      if (options_.keep_values) continue;
      for (const size_t id : last_uses_[i]) tensors_[id] = at::Tensor();
    }
  }

 private:
  void count_uses() {
    constexpr size_t kKept = std::numeric_limits<size_t>::max();
    std::vector<size_t> last(trace_.values.size(), kKept);
    last_uses_.resize(trace_.nodes.size());
    for (size_t i = 0; i < trace_.nodes.size(); ++i) {
      for_each_operand(trace_.nodes[i],
                       [&](TraceValueId id) { last[static_cast<size_t>(id)] = i; });
    }
    for (const TraceOutput& out : trace_.outputs) {
      if (out.value != kNoTraceValue) last[static_cast<size_t>(out.value)] = kKept;
    }
    for (const TraceGuard& guard : trace_.guards) last[static_cast<size_t>(guard.value)] = kKept;
    for (const TraceState& state : trace_.states) last[static_cast<size_t>(state.next)] = kKept;
    for (size_t id = 0; id < last.size(); ++id) {
      if (last[id] != kKept) last_uses_[last[id]].push_back(id);
    }
  }

  void run_node(const TraceNode& node) {
    const IdToTensor tensor_of = [this, &node](TraceValueId id) {
      const at::Tensor t = get(id);
      const bool floating = t.defined() && at::isFloatingType(t.scalar_type());
      return options_.change_operand && floating ? options_.change_operand(node, id, t) : t;
    };
    const auto results = options_.in_double
                             ? call_eagerly(node.op, node.overload, doubled(node.args), tensor_of)
                             : call_eagerly(node.op, node.overload, node.args, tensor_of);
    TORCH_CHECK(results.size() == node.outputs.size(), node.full_name(),
                ": another number of results than captured");
    for (size_t i = 0; i < results.size(); ++i) store(node, node.outputs[i], results[i]);
  }

  static bool is_floating_dtype(DType dtype) { return at::isFloatingType(to_scalar_type(dtype)); }

  static OpArgs doubled(OpArgs args) {
    for (auto& [name, arg] : args) {
      auto* dtype = std::get_if<DType>(&arg);
      if (dtype && is_floating_dtype(*dtype)) *dtype = DType::kFloat64;
    }
    return args;
  }

  bool is_expected(const TraceValue& value, const at::Tensor& t) const {
    if (t.sizes() != value.shape) return false;
    if (options_.in_double && is_floating_dtype(value.dtype)) {
      return at::isFloatingType(t.scalar_type());
    }
    return to_dtype(t.scalar_type()) == value.dtype;
  }

  void store(const TraceNode& node, TraceValueId id, at::Tensor t) {
    if (id == kNoTraceValue) return;
    const TraceValue& value = trace_.values[static_cast<size_t>(id)];
    TORCH_CHECK(is_expected(value, t), node.full_name(), ": captured as ", dtype_name(value.dtype),
                value.shape, ", eager gives ", t.scalar_type(), t.sizes());
    const bool floating = at::isFloatingType(t.scalar_type());
    if (options_.in_double && floating) t = t.to(at::kDouble);
    if (options_.change_result && floating) t = options_.change_result(id, t);
    set(id, std::move(t));
  }

  const Trace& trace_;
  const TraceEvalOptions& options_;
  std::vector<at::Tensor> tensors_;
  std::vector<std::vector<size_t>> last_uses_;  ///< by node: values that nobody reads after it
};

at::Tensor literal_tensor(const std::variant<bool, int64_t, double>& literal) {
  return std::visit(
      [](auto v) {
        return at::scalar_tensor(
            v, at::TensorOptions().dtype(c10::CppTypeToScalarType<decltype(v)>::value));
      },
      literal);
}

std::vector<at::Tensor> collect(const Trace& trace, Evaluator& evaluator) {
  std::vector<at::Tensor> outputs;
  for (const TraceOutput& out : trace.outputs) {
    if (out.literal) {
      outputs.push_back(literal_tensor(*out.literal));
    } else {
      outputs.push_back(out.value == kNoTraceValue ? at::Tensor() : evaluator.get(out.value));
    }
  }
  return outputs;
}

TraceRun evaluate(const Trace& trace, const std::vector<at::Tensor>& inputs,
                  const std::vector<at::Tensor>& states, const TraceEvalOptions& options) {
  TORCH_CHECK(inputs.size() == trace.inputs.size(), "the trace has ", trace.inputs.size(),
              " inputs, not ", inputs.size());
  TORCH_CHECK(states.empty() || states.size() == trace.states.size(), "the trace has ",
              trace.states.size(), " states, not ", states.size());
  const at::NoGradGuard no_grad;
  Evaluator evaluator(trace, options);
  for (size_t i = 0; i < inputs.size(); ++i) evaluator.set(trace.inputs[i], inputs[i]);
  for (size_t i = 0; i < states.size(); ++i) evaluator.set(trace.states[i].leaf, states[i]);
  evaluator.run();
  TraceRun run;
  run.outputs = collect(trace, evaluator);
  for (const TraceGuard& guard : trace.guards) run.guards.push_back(evaluator.get(guard.value));
  for (const TraceState& state : trace.states) {
    run.states.push_back(evaluator.get(state.next).clone());
  }
  if (options.keep_values) run.values = evaluator.take_values();
  return run;
}

struct Holds {
  const at::Tensor& value;
  bool operator()(bool seen) const { return value.item<bool>() == seen; }
  bool operator()(int64_t seen) const { return value.item<int64_t>() == seen; }
  bool operator()(double seen) const {
    const double now = value.item<double>();
    if (std::isnan(seen) || std::isnan(now)) return std::isnan(seen) && std::isnan(now);
    return now == seen || std::abs(now - seen) <= 1e-5 * std::abs(seen);
  }
};

}  // namespace

Outcome<TraceRun> run_trace(const Trace& trace, const std::vector<at::Tensor>& inputs,
                            const std::vector<at::Tensor>& states,
                            const TraceEvalOptions& options) {
  try {
    return evaluate(trace, inputs, states, options);
  } catch (const c10::Error& e) {
    return Failure{Error::kInternal, e.what_without_backtrace()};
  } catch (const std::exception& e) {
    return Failure{Error::kInternal, e.what()};
  }
}

Outcome<std::vector<at::Tensor>> evaluate_trace(const Trace& trace,
                                                const std::vector<at::Tensor>& inputs) {
  auto run = run_trace(trace, inputs);
  if (!run.ok()) return run.failure();
  return std::move(run->outputs);
}

bool guards_hold(const Trace& trace, const std::vector<at::Tensor>& values) {
  for (size_t i = 0; i < trace.guards.size(); ++i) {
    if (!std::visit(Holds{values.at(i)}, trace.guards[i].seen)) return false;
  }
  return true;
}

}  // namespace lazyrt
