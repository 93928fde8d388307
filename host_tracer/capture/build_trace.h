#pragma once

// From the lazy core's graph to a Trace.

#include <string>
#include <vector>

#include "host_tracer/capture/capture_node.h"
#include "host_tracer/capture/trace.h"

namespace lazyrt {

struct NamedOutput {
  std::string name;
  torch::lazy::Value value;  ///< empty: the output is None
};

/// The part of the graph that the outputs need, in order of execution. All inputs are kept, in
/// their order, used or not, with their data as samples.
Trace build_trace(const std::vector<const LeafNode*>& inputs,
                  const std::vector<NamedOutput>& outputs);

}  // namespace lazyrt
