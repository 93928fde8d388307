#pragma once

// The user's line behind a node of a TorchScript graph.

#include <torch/csrc/jit/ir/ir.h>

#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "host_tracer/trace/trace.h"

namespace lazyrt {

/// A place in Python code; file is empty where none is known.
struct ScriptLine {
  std::string file;
  int line = 0;
  bool user = false;  ///< outside of torch's own package
};

/// Whether a file is part of torch, by its own path or by that in an archive.
bool is_of_torch(std::string_view file);

class ScriptSources {
 public:
  /// The innermost line outside of torch among the node's own and those of the calls around it
  /// (outermost first); the node's own where there is none.
  Source source_of(const torch::jit::Node* node, const std::vector<const torch::jit::Node*>& calls,
                   const std::string& module_path);

  /// The node's own line, of torch's code too.
  const ScriptLine& line_of(const torch::jit::Node* node);

 private:
  std::unordered_map<const torch::jit::Node*, ScriptLine> lines_;
};

}  // namespace lazyrt
