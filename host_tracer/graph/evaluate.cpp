#include "host_tracer/graph/evaluate.h"

#include <cstdlib>
#include <cstring>

namespace lazyrt {
namespace {

std::shared_ptr<void> allocate_tensor(size_t bytes) {
  const size_t size = (bytes + kTailBytes + kAlignment - 1) / kAlignment * kAlignment;
  void* memory = std::aligned_alloc(kAlignment, size);
  if (memory != nullptr) std::memset(memory, 0, size);
  return {memory, std::free};
}

void* allocate_for_kernel(void*, size_t bytes, size_t alignment) {
  const size_t step = alignment < sizeof(void*) ? sizeof(void*) : alignment;
  return std::aligned_alloc(step, (bytes + step - 1) / step * step);
}

void release_for_kernel(void*, void* pointer) { std::free(pointer); }

Status run_kernel(const Kernel& kernel, const NodeSpec& spec, const RunContext& operands) {
  if (kernel.run == nullptr) return Fault(Error::kUnsupported, "no reference kernel");
  if (kernel.supports != nullptr) LAZYRT_RETURN_IF_ERROR(kernel.supports(spec));
  const Allocator allocator = {nullptr, allocate_for_kernel, release_for_kernel};
  PreparedKernel prepared;
  if (kernel.prepare != nullptr) {
    LAZYRT_RETURN_IF_ERROR(kernel.prepare({spec, allocator, nullptr}, &prepared));
  }
  const std::shared_ptr<void> workspace = allocate_tensor(prepared.workspace_bytes);
  RunContext context = operands;
  context.workspace = workspace.get();
  const Status status = kernel.run(prepared.state, context);
  if (kernel.release != nullptr) kernel.release(prepared.state, allocator);
  return status;
}

/// Values of a running graph; a value's memory goes with its last reader.
class Evaluation {
 public:
  explicit Evaluation(const Graph& graph)
      : graph_(graph), tensors_(graph.value_count()), uses_(graph.use_counts()) {}

  void set(ValueId id, HostTensor tensor) { tensors_[static_cast<size_t>(id)] = std::move(tensor); }

  TensorView view(ValueId id) const {
    if (id == kNoValue) return {};
    const Value& v = graph_.value(id);
    if (v.kind != ValueKind::kConstant && v.kind != ValueKind::kState)
      return tensors_[static_cast<size_t>(id)].view();
    return {const_cast<uint8_t*>(v.constant.data), v.dtype, v.shape};
  }

  Outcome<Done> step(const Node& node) {
    std::vector<TensorView> operands;
    for (ValueId id : node.inputs) operands.push_back(view(id));
    auto results = evaluate_node(graph_, node, operands);
    if (!results.ok()) return results.failure();
    for (size_t k = 0; k < node.outputs.size(); ++k) {
      if (uses_[static_cast<size_t>(node.outputs[k])] > 0) set(node.outputs[k], (*results)[k]);
    }
    for (ValueId id : node.inputs) {
      if (id != kNoValue && --uses_[static_cast<size_t>(id)] == 0) set(id, {});
    }
    return Done{};
  }

  HostTensor result(ValueId id) const {
    if (id == kNoValue) return {};
    const TensorView v = view(id);
    HostTensor copy = HostTensor::make(v.dtype, v.shape);
    if (v.bytes() > 0) std::memcpy(copy.data.get(), v.data, v.bytes());
    return copy;
  }

 private:
  const Graph& graph_;
  std::vector<HostTensor> tensors_;
  std::vector<int32_t> uses_;
};

}  // namespace

HostTensor HostTensor::make(DType dtype, const Shape& shape) {
  HostTensor t{dtype, shape, nullptr};
  t.data = allocate_tensor(t.bytes());
  return t;
}

ConstantData HostTensor::constant_data() const {
  return {data, static_cast<const uint8_t*>(data.get()), bytes()};
}

Outcome<std::vector<HostTensor>> evaluate_node(const Graph& graph, const Node& node,
                                               const std::vector<TensorView>& operands) {
  const std::string who = std::string(node.attrs.name()) + " at " + node.source.text();
  const OpEntry* op = graph.ops().find(node.attrs.view());
  if (op == nullptr) return Failure{Error::kUnsupported, who + ": not in the op table"};
  std::vector<TensorSpec> in_specs, out_specs;
  for (const TensorView& v : operands) in_specs.push_back({v.dtype, v.shape, v.data});
  std::vector<HostTensor> results;
  std::vector<TensorView> out_views;
  for (ValueId id : node.outputs) {
    const Value& v = graph.value(id);
    results.push_back(HostTensor::make(v.dtype, v.shape));
    if (results.back().data == nullptr) return Failure{Error::kOutOfMemory, who + ": no memory"};
    out_views.push_back(results.back().view());
    out_specs.push_back({v.dtype, v.shape, nullptr});
  }
  const NodeSpec spec = {node.attrs.view(), Span<const TensorSpec>(in_specs),
                         Span<const TensorSpec>(out_specs)};
  RunContext context;
  context.attrs = spec.attrs;
  context.inputs = Span<const TensorView>(operands);
  context.outputs = Span<const TensorView>(out_views);
  const Status status = run_kernel(op->def->reference, spec, context);
  if (!status.ok()) return Failure{status.error(), who + ": " + status.message()};
  return results;
}

Outcome<std::vector<HostTensor>> evaluate(const Graph& graph, const std::vector<HostTensor>& inputs,
                                          std::vector<HostTensor>* next_states) {
  if (inputs.size() != graph.inputs().size()) {
    return Failure{Error::kInvalidArgument, "the graph takes " +
                                                std::to_string(graph.inputs().size()) +
                                                " inputs, got " + std::to_string(inputs.size())};
  }
  Evaluation run(graph);
  for (size_t i = 0; i < inputs.size(); ++i) {
    const Value& v = graph.value(graph.inputs()[i]);
    if (inputs[i].dtype != v.dtype || inputs[i].shape != v.shape) {
      return Failure{Error::kInvalidArgument, "input \"" + v.name + "\" is " + dtype_name(v.dtype) +
                                                  shape_text(v.shape).text + ", got " +
                                                  dtype_name(inputs[i].dtype) +
                                                  shape_text(inputs[i].shape).text};
    }
    run.set(graph.inputs()[i], inputs[i]);
  }
  for (const Node& node : graph.nodes()) LAZYRT_TRY(run.step(node));
  std::vector<HostTensor> results;
  for (const GraphOutput& out : graph.outputs()) results.push_back(run.result(out.value));
  if (next_states != nullptr) {
    for (const GraphState& state : graph.states()) next_states->push_back(run.result(state.next));
  }
  return results;
}

}  // namespace lazyrt
