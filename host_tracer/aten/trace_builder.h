#pragma once

// Builds traces by hand and runs what the importer makes of them. For tests only.

#include <cstring>
#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

#include "host_tracer/aten/import.h"
#include "host_tracer/aten/scalar.h"
#include "host_tracer/graph/elements.h"
#include "host_tracer/graph/evaluate.h"
#include "lazyrt/runtime.h"

namespace lazyrt {

using Dims = std::vector<int64_t>;
using Values = std::vector<double>;

struct TypedShape {
  DType dtype = DType::kFloat32;
  Dims shape;
};

/// A value of the trace as an argument.
inline TensorArg t(TraceValueId id) { return {id}; }
inline std::vector<TensorArg> ts(const std::vector<TraceValueId>& ids) {
  std::vector<TensorArg> list;
  for (TraceValueId id : ids) list.push_back({id});
  return list;
}

class TraceBuilder {
 public:
  using Args = std::vector<std::pair<std::string, TraceArg>>;

  TraceValueId input(Dims shape, DType dtype = DType::kFloat32) {
    TraceValue v;
    v.name = "x" + std::to_string(trace.inputs.size());
    v.leaf = LeafKind::kInput;
    const TraceValueId id = add(v, dtype, std::move(shape));
    trace.inputs.push_back(id);
    return id;
  }

  TraceValueId constant(Dims shape, const Values& values, DType dtype = DType::kFloat32) {
    auto bytes = std::make_shared<std::vector<uint8_t>>();
    for (double v : values) append_element(dtype, v, *bytes);
    TraceValue v;
    v.leaf = LeafKind::kParameter;
    v.constant = {bytes, bytes->data(), bytes->size()};
    return add(v, dtype, std::move(shape));
  }

  /// A Python number that came as a tensor operand.
  TraceValueId number(const Scalar& value) {
    const TraceValueId id = constant({}, {value.as_double()}, value.dtype());
    trace.values.back().wrapped_number = true;
    return id;
  }

  std::vector<TraceValueId> call_multi(const std::string& name, Args args,
                                       const std::vector<TypedShape>& results) {
    TraceNode node;
    const size_t dot = name.find('.');
    node.op = "aten::" + name.substr(0, dot);
    if (dot != std::string::npos) node.overload = name.substr(dot + 1);
    node.args = std::move(args);
    node.source = {"block.1", "net.py", static_cast<int>(trace.nodes.size()) + 1, node.op};
    for (const TypedShape& r : results) node.outputs.push_back(add({}, r.dtype, r.shape));
    trace.nodes.push_back(node);
    return node.outputs;
  }

  TraceValueId call(const std::string& name, Args args, Dims shape, DType dtype = DType::kFloat32) {
    return call_multi(name, std::move(args), {{dtype, std::move(shape)}})[0];
  }

  void output(TraceValueId id) { trace.outputs.push_back({"", id, std::nullopt}); }

  Trace trace;

 private:
  TraceValueId add(TraceValue v, DType dtype, Dims shape) {
    v.dtype = dtype;
    v.shape = std::move(shape);
    trace.values.push_back(std::move(v));
    return static_cast<TraceValueId>(trace.values.size()) - 1;
  }
};

/// The result of a run: the outputs' elements, or the failure's text.
struct RunResult {
  std::string error;
  std::vector<Values> outputs;
  std::vector<TypedShape> types;
};

inline Values elements(const HostTensor& tensor) {
  Values values;
  for (int64_t i = 0; i < tensor.shape.numel(); ++i) {
    values.push_back(read_element(tensor.dtype, tensor.data.get(), i));
  }
  return values;
}

/// Imports and evaluates with the reference kernels; inputs are given by their elements, repeated
/// as often as needed.
inline RunResult run(const Trace& trace, const std::vector<Values>& inputs = {}) {
  RunResult result;
  const Outcome<Graph> graph = import_trace(trace, default_ops(), nullptr);
  if (!graph.ok()) return {graph.failure().text, {}, {}};
  std::vector<HostTensor> tensors;
  for (size_t i = 0; i < graph->inputs().size(); ++i) {
    const Value& v = graph->value(graph->inputs()[i]);
    HostTensor tensor = HostTensor::make(v.dtype, v.shape);
    for (int64_t k = 0; k < v.shape.numel(); ++k) {
      const Values& given = inputs.at(i);
      write_element(v.dtype, tensor.data.get(), k, given[static_cast<size_t>(k) % given.size()]);
    }
    tensors.push_back(tensor);
  }
  const Outcome<std::vector<HostTensor>> outputs = evaluate(*graph, tensors);
  if (!outputs.ok()) return {outputs.failure().text, {}, {}};
  for (const HostTensor& tensor : *outputs) {
    result.outputs.push_back(elements(tensor));
    result.types.push_back({tensor.dtype, Dims(tensor.shape.begin(), tensor.shape.end())});
  }
  return result;
}

/// Imports only; the graph's text without sources, or the failure's text.
inline std::string imported_text(const Trace& trace) {
  const Outcome<Graph> graph = import_trace(trace, default_ops(), nullptr);
  return graph.ok() ? graph_text(*graph, false) : graph.failure().text;
}

}  // namespace lazyrt
