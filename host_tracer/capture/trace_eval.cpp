#include "host_tracer/capture/trace_eval.h"

#include <ATen/ATen.h>
#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/core/dispatch/Dispatcher.h>

#include <limits>

#include "host_tracer/capture/build_trace.h"
#include "host_tracer/capture/capture.h"
#include "host_tracer/capture/op_args.h"

namespace lazyrt {
namespace {

constexpr size_t kMaxConstantBytes = 1 << 20;

class Evaluator {
 public:
  Evaluator(const Trace& trace, size_t max_operand_bytes)
      : trace_(trace), tensors_(trace.values.size()), max_operand_bytes_(max_operand_bytes) {
    count_uses();
  }

  void set(TraceValueId id, at::Tensor t) { tensors_[static_cast<size_t>(id)] = std::move(t); }

  at::Tensor get(TraceValueId id) {
    at::Tensor& t = tensors_[static_cast<size_t>(id)];
    const TraceValue& value = trace_.values[static_cast<size_t>(id)];
    if (t.defined() || value.leaf == LeafKind::kNotLeaf || value.leaf == LeafKind::kInput) return t;
    t = from_sample({value.dtype, value.shape, value.constant});
    if (value.wrapped_number) t.unsafeGetTensorImpl()->set_wrapped_number(true);
    return t;
  }

  void run() {
    for (size_t i = 0; i < trace_.nodes.size(); ++i) {
      run_node(trace_.nodes[i]);
      for (const size_t id : last_uses_[i]) tensors_[id] = at::Tensor();
    }
  }

 private:
  template <typename Fn>
  static void for_operands(const TraceNode& node, const Fn& fn) {
    for (const auto& [name, arg] : node.args) {
      if (const auto* one = std::get_if<TensorArg>(&arg)) fn(one->value);
      if (const auto* list = std::get_if<std::vector<TensorArg>>(&arg)) {
        for (const TensorArg& item : *list) fn(item.value);
      }
    }
  }

  void count_uses() {
    constexpr size_t kKept = std::numeric_limits<size_t>::max();
    std::vector<size_t> last(trace_.values.size(), kKept);
    last_uses_.resize(trace_.nodes.size());
    for (size_t i = 0; i < trace_.nodes.size(); ++i) {
      for_operands(trace_.nodes[i], [&](TraceValueId id) {
        if (id != kNoTraceValue) last[static_cast<size_t>(id)] = i;
      });
    }
    for (const TraceOutput& out : trace_.outputs) {
      if (out.value != kNoTraceValue) last[static_cast<size_t>(out.value)] = kKept;
    }
    for (size_t id = 0; id < last.size(); ++id) {
      if (last[id] != kKept) last_uses_[last[id]].push_back(id);
    }
  }

  void check_size(const TraceNode& node) {
    size_t bytes = 0;
    for_operands(node, [&](TraceValueId id) {
      if (id != kNoTraceValue) bytes += get(id).nbytes();
    });
    TORCH_CHECK(bytes <= max_operand_bytes_, node.full_name(),
                ": the program asks for a value that "
                "would need ",
                bytes, " bytes of operands to be computed while capturing");
  }

  void run_node(const TraceNode& node) {
    check_size(node);
    const auto op =
        c10::Dispatcher::singleton().findSchemaOrThrow(node.op.c_str(), node.overload.c_str());
    const auto& arguments = op.schema().arguments();
    TORCH_CHECK(arguments.size() == node.args.size(), node.full_name(), ": wrong argument count");
    torch::jit::Stack stack;
    const IdToTensor tensor_of = [this](TraceValueId id) { return get(id); };
    for (size_t i = 0; i < arguments.size(); ++i) {
      stack.push_back(to_ivalue(arguments[i], node.args[i].second, tensor_of));
    }
    op.callBoxed(stack);
    store(node, stack);
  }

  void store(const TraceNode& node, const torch::jit::Stack& stack) {
    size_t next = 0;
    const auto put = [&](const at::Tensor& t) {
      TORCH_CHECK(next < node.outputs.size(), node.full_name(), ": more results than captured");
      const TraceValueId id = node.outputs[next++];
      if (id == kNoTraceValue) return;
      const TraceValue& value = trace_.values[static_cast<size_t>(id)];
      TORCH_CHECK(t.sizes() == value.shape && to_dtype(t.scalar_type()) == value.dtype,
                  node.full_name(), ": captured as ", dtype_name(value.dtype), value.shape,
                  ", eager gives ", t.scalar_type(), t.sizes());
      set(id, t);
    };
    for (const c10::IValue& result : stack) {
      if (result.isTensor()) put(result.toTensor());
      if (!result.isTensorList()) continue;
      for (const at::Tensor& t : result.toTensorVector()) put(t);
    }
  }

  const Trace& trace_;
  std::vector<at::Tensor> tensors_;
  std::vector<std::vector<size_t>> last_uses_;  ///< by node: values that nobody reads after it
  size_t max_operand_bytes_;
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

std::vector<at::Tensor> evaluate(const Trace& trace, const std::vector<at::Tensor>& inputs) {
  TORCH_CHECK(inputs.size() == trace.inputs.size(), "the trace has ", trace.inputs.size(),
              " inputs, not ", inputs.size());
  const at::NoGradGuard no_grad;
  Evaluator evaluator(trace, std::numeric_limits<size_t>::max());
  for (size_t i = 0; i < inputs.size(); ++i) evaluator.set(trace.inputs[i], inputs[i]);
  evaluator.run();
  return collect(trace, evaluator);
}

}  // namespace

Outcome<std::vector<at::Tensor>> evaluate_trace(const Trace& trace,
                                                const std::vector<at::Tensor>& inputs) {
  try {
    return evaluate(trace, inputs);
  } catch (const c10::Error& e) {
    return Failure{Error::kInternal, e.what_without_backtrace()};
  } catch (const std::exception& e) {
    return Failure{Error::kInternal, e.what()};
  }
}

at::Tensor evaluate_value(const torch::lazy::Value& value) {
  const Trace trace = build_trace({}, {{"", value}});
  Evaluator evaluator(trace, kMaxConstantBytes);
  evaluator.run();
  return collect(trace, evaluator).front();
}

}  // namespace lazyrt
