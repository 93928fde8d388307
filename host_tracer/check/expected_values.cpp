#include "host_tracer/check/expected_values.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <set>
#include <utility>

#include "host_tracer/graph/evaluate.h"
#include "host_tracer/record/capture.h"
#include "host_tracer/trace/operands.h"
#include "runtime/op/node_work.h"

namespace lazyrt {
namespace {

/// A reference kernel may take at most this many steps for one value.
constexpr uint64_t kMostReferenceWork = uint64_t{1} << 34;

at::Tensor moved_as(const Origin& origin, at::Tensor t) {
  for (const Origin::Step& step : origin.steps)
    t = step.permutes ? t.permute(step.dims) : t.reshape(step.dims);
  return t;
}

HostTensor host_copy(const at::Tensor& t, DType dtype, const Shape& shape) {
  HostTensor copy = HostTensor::make(dtype, shape);
  const SampleTensor sample = to_sample(t.to(to_scalar_type(dtype)).contiguous());
  std::copy_n(sample.data.data, sample.data.bytes, static_cast<uint8_t*>(copy.data.get()));
  return copy;
}

at::Tensor tensor_of(DType dtype, const Shape& shape, const ConstantData& data) {
  return from_sample({dtype, {shape.begin(), shape.end()}, data});
}

std::vector<TraceValueId> operands_of(const TraceNode& node) {
  std::vector<TraceValueId> values;
  for_each_operand(node, [&](TraceValueId id) { values.push_back(id); });
  return values;
}

uint64_t work_of(const Graph& graph, const Node& node) {
  std::vector<TensorSpec> inputs, outputs;
  for (const ValueId id : node.inputs) inputs.push_back(graph.spec(id));
  for (const ValueId id : node.outputs) outputs.push_back(graph.spec(id));
  const OpAttrs attrs = node.attrs.view();
  const OpDef& def = *graph.ops().find(attrs)->def;
  return work_of_node(def, attrs, inputs, outputs).steps();
}

}  // namespace

Outcome<Done> ExpectedValues::make() {
  auto values = wobble_.values();
  if (!values.ok()) return values.failure();
  plain_.trace = std::move(values->plain);
  states_ = std::move(values->states);
  return Done{};
}

bool ExpectedValues::is_eager(ValueId id) const {
  const Origin& origin = graph_.value(id).origin;
  return origin.is_known() && plain_.trace[static_cast<size_t>(origin.value)].defined();
}

at::Tensor ExpectedValues::from_trace(const Evaluation& evaluation, const Value& value) const {
  if (!value.origin.is_known()) return {};
  const at::Tensor& t = evaluation.trace[static_cast<size_t>(value.origin.value)];
  if (!t.defined()) return {};
  const at::Tensor moved = moved_as(value.origin, t);
  const std::vector<int64_t> shape(value.shape.begin(), value.shape.end());
  return moved.sizes() == at::IntArrayRef(shape) ? moved : at::Tensor();
}

/// The value of an input, a constant, or a state at the beginning of the run.
at::Tensor ExpectedValues::leaf(ValueId id) const {
  const Value& value = graph_.value(id);
  for (size_t i = 0; i < graph_.inputs().size(); ++i) {
    if (graph_.inputs()[i] == id) return inputs_[i];
  }
  for (size_t k = 0; k < graph_.states().size() && k < states_.size(); ++k) {
    if (graph_.states()[k].value == id) return states_[k];
  }
  return tensor_of(value.dtype, value.shape, value.constant);
}

at::Tensor ExpectedValues::by_kernel(Evaluation& evaluation, ValueId id, std::string* why) {
  const Node& node = *graph_.producer(id);
  if (work_of(graph_, node) > kMostReferenceWork) {
    *why = "it is not a value of the traced program, and too large for a reference kernel";
    return {};
  }
  std::vector<HostTensor> operands;
  std::vector<TensorView> views;
  for (const ValueId input : node.inputs) {
    operands.emplace_back();
    if (input == kNoValue) {
      views.push_back({});
      continue;
    }
    const at::Tensor t = value_in(evaluation, input, why);
    if (!t.defined()) return {};
    operands.back() = host_copy(t, graph_.value(input).dtype, graph_.value(input).shape);
    views.push_back(operands.back().view());
  }
  auto results = evaluate_node(graph_, node, views);
  if (!results.ok()) {
    *why = "its reference kernel fails: " + results.failure().text;
    return {};
  }
  for (size_t r = 0; r < node.outputs.size(); ++r) {
    const HostTensor& t = (*results)[r];
    evaluation.made[node.outputs[r]] = tensor_of(t.dtype, t.shape, t.constant_data());
  }
  return evaluation.made[id];
}

at::Tensor ExpectedValues::value_in(Evaluation& evaluation, ValueId id, std::string* why) {
  const Value& value = graph_.value(id);
  if (value.kind != ValueKind::kNode) return leaf(id);
  if (const auto found = evaluation.made.find(id); found != evaluation.made.end())
    return found->second;
  const at::Tensor t = from_trace(evaluation, value);
  return t.defined() ? t : by_kernel(evaluation, id, why);
}

at::Tensor ExpectedValues::of(ValueId id, std::string* why) { return value_in(plain_, id, why); }

std::vector<ExpectedValues::Evaluation>& ExpectedValues::moved() {
  if (moved_) return *moved_;
  moved_.emplace();
  for (auto& moved : wobble_.moved_values())
    moved_->push_back({std::move(moved.values), moved.places, {}});
  return *moved_;
}

Wobble ExpectedValues::wobble_of(ValueId id) {
  std::string ignored;
  Wobble wobble;
  const at::Tensor plain = of(id, &ignored);
  learn_from(plain, plain, 1, wobble);
  for (Evaluation& evaluation : moved())
    learn_from(plain, value_in(evaluation, id, &ignored), evaluation.places, wobble);
  return wobble;
}

/// Values up to some calls before and after it.
std::vector<TraceValueId> ExpectedValues::neighbours(ValueId id) const {
  constexpr int kCalls = 4;
  const TraceValueId origin = graph_.value(id).origin.value;
  if (origin == kNoTraceValue) return {};
  std::set<TraceValueId> before = {origin}, after = {origin};
  for (int i = 0; i < kCalls; ++i) {
    const std::set<TraceValueId> old_before = before, old_after = after;
    for (const TraceNode& node : trace_.nodes) {
      const auto makes = [&](const std::set<TraceValueId>& values) {
        return std::any_of(node.outputs.begin(), node.outputs.end(),
                           [&](TraceValueId made) { return values.count(made) != 0; });
      };
      const std::vector<TraceValueId> operands = operands_of(node);
      const bool reads = std::any_of(operands.begin(), operands.end(),
                                     [&](TraceValueId read) { return old_after.count(read) != 0; });
      if (makes(old_before)) before.insert(operands.begin(), operands.end());
      if (reads) after.insert(node.outputs.begin(), node.outputs.end());
    }
  }
  before.insert(after.begin(), after.end());
  std::vector<TraceValueId> alike;
  const at::Tensor& own = plain_.trace[static_cast<size_t>(origin)];
  for (const TraceValueId value : before) {
    if (value == origin || value == kNoTraceValue) continue;
    const at::Tensor& other = plain_.trace[static_cast<size_t>(value)];
    if (other.defined() && own.defined() && other.sizes() == own.sizes() &&
        other.scalar_type() == own.scalar_type())
      alike.push_back(value);
  }
  return alike;
}

at::Tensor ExpectedValues::neighbour(ValueId id, TraceValueId value) const {
  return moved_as(graph_.value(id).origin, plain_.trace[static_cast<size_t>(value)]);
}

Wobble ExpectedValues::wobble_of_neighbour(ValueId id, TraceValueId value) {
  const at::Tensor plain = neighbour(id, value);
  Wobble wobble;
  learn_from(plain, plain, 1, wobble);
  for (const Evaluation& evaluation : moved()) {
    const at::Tensor& t = evaluation.trace[static_cast<size_t>(value)];
    if (!t.defined()) continue;
    learn_from(plain, moved_as(graph_.value(id).origin, t), evaluation.places, wobble);
  }
  return wobble;
}

}  // namespace lazyrt
