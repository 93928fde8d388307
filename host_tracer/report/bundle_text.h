#pragma once

// A BundleInfo for people and for programs.

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "host_tracer/report/bundle_info.h"

namespace lazyrt {

/// "f32[1,3,224,224]"
std::string tensor_text(DType dtype, const std::vector<int64_t>& shape);
/// "3.5 MB", "812 B": powers of 1000, three digits.
std::string bytes_text(uint64_t bytes);

/// Interface, memory, operators and fallbacks of each method, about a screen; ends in a newline.
/// `with_nodes` adds a line for each node.
std::string bundle_text(const BundleInfo& info, bool with_nodes);

/// Everything in it. {"bundle", "bytes", ..., "methods": [{"name", "inputs", "outputs", "ops",
/// "reference_nodes", "node_list", ...}]}
nlohmann::ordered_json bundle_json(const BundleInfo& info);

/// [{"name", "dtype", "shape"}]
nlohmann::ordered_json tensors_json(const std::vector<TensorLine>& tensors);
/// The nodes cpu gives to a reference kernel: [{"node", "op", "reason", "aten", "module",
/// "source"}]
nlohmann::ordered_json reference_nodes_json(const MethodInfo& method);

/// Lines about the nodes that cpu gives to a reference kernel, and why; empty if there are none.
std::string reference_nodes_text(const MethodInfo& method);

}  // namespace lazyrt
