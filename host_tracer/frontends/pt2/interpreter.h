#pragma once

// Runs an exported graph by boxed calls of its operators: on lazy tensors to capture it, on CPU
// tensors to get what eager ATen answers. Both walk the same code.

#include <ATen/core/ivalue.h>
#include <torch/csrc/utils/generated_serialization_types.h>

#include <functional>
#include <string>
#include <vector>

#include "host_tracer/frontends/shared/copies.h"

namespace lazyrt {

class Pt2Interpreter {
 public:
  /// Devices named in the graph are replaced by `device`, factories that name none get it.
  /// `on_node` is called after each node of the outermost graph; `copies` is told of calls that
  /// may copy.
  Pt2Interpreter(at::Device device, std::function<void()> on_node, Copies* copies)
      : device_(device), on_node_(std::move(on_node)), copies_(*copies) {}

  /// The graph's outputs for its inputs, in order: tensors, numbers, None.
  /// Throws c10::Error naming node and source line.
  std::vector<c10::IValue> run(const torch::_export::Graph& graph,
                               const std::vector<c10::IValue>& inputs);

  Copies& copies() { return copies_; }

 private:
  at::Device device_;
  std::function<void()> on_node_;
  Copies& copies_;
  int depth_ = 0;
};

/// Every node, also of sub-graphs, that cannot be run: one line each with target, reason and
/// source. Empty when all can.
std::vector<std::string> unsupported_nodes(const torch::_export::Graph& graph);

/// Whether the program asks how tensors lie in memory (strides, as_strided).
bool asks_for_strides(const torch::_export::Graph& graph);

}  // namespace lazyrt
