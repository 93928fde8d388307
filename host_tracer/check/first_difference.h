#pragma once

// Finds by bisection which node of a trace the bundle computes differently from ATen.

#include <functional>
#include <string>

#include "host_tracer/check/eager_wobble.h"
#include "host_tracer/trace/trace.h"

namespace lazyrt {

/// Exports a trace to a file in the same way as the bundle.
using ExportTrace = std::function<Outcome<Done>(const Trace& trace, const std::string& path)>;

struct Suspect {
  std::string node;  ///< "aten::mul.Tensor"
  Source source;

  /// "aten::mul.Tensor at block.0 (model.py:12)"
  std::string text() const;
};

/// Exports the beginnings of `trace` to files at `path`, with the values that the remaining nodes
/// need as results, runs them on `inputs` and compares with the trace's own `values`. Nothing:
/// every beginning agrees, the trace cannot be cut so, or `seconds` are over.
Outcome<Suspect> find_first_difference(const Trace& trace, const std::vector<at::Tensor>& inputs,
                                       const EagerWobble::Values& values,
                                       const ExportTrace& export_trace, const std::string& path,
                                       double seconds);

}  // namespace lazyrt
