#pragma once

// Runs nodes on the host with the reference kernels: for constant folding and for tests of passes.

#include <memory>
#include <vector>

#include "host_tracer/graph/graph.h"

namespace lazyrt {

/// A tensor that owns its memory: kAlignment aligned, kTailBytes readable past the end.
struct HostTensor {
  DType dtype = DType::kNone;
  Shape shape;
  std::shared_ptr<void> data;

  /// Zero-filled.
  static HostTensor make(DType dtype, const Shape& shape);
  TensorView view() const { return {data.get(), dtype, shape}; }
  size_t bytes() const { return view().bytes(); }
  /// The same memory as a constant's data.
  ConstantData constant_data() const;
};

/// Runs one node on the given operands (absent ones: dtype kNone). The failure names the node.
Outcome<std::vector<HostTensor>> evaluate_node(const Graph& graph, const Node& node,
                                               const std::vector<TensorView>& operands);

/// Runs the whole graph as a first run; one tensor per input, one result per output. A literal
/// output gives an absent tensor. Guards are not checked. `next_states` may be nullptr: it gets
/// what the states become.
Outcome<std::vector<HostTensor>> evaluate(const Graph& graph, const std::vector<HostTensor>& inputs,
                                          std::vector<HostTensor>* next_states = nullptr);

}  // namespace lazyrt
