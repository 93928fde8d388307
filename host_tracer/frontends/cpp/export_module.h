#pragma once

// A C++ module or function becomes a bundle in one call. Link lazyrt_cpp.

#include <string>
#include <vector>

#include "host_tracer/exporter.h"
#include "host_tracer/frontends/cpp/trace.h"

namespace lazyrt {

/// Writes a trace to `path`. A BROKEN one is refused (kUnsupported, its errors in the text); allow
/// findings by their ids in TraceOptions::check.
Outcome<ExportReport> export_trace_to(const Trace& trace, const std::string& path);

/// trace() and export_trace_to().
template <class Program>
Outcome<ExportReport> export_module(const Program& program,
                                    const std::vector<at::Tensor>& example_inputs,
                                    const std::string& path, const TraceOptions& options = {}) {
  auto captured = trace(program, example_inputs, options);
  if (!captured.ok()) return captured.failure();
  return export_trace_to(*captured, path);
}

}  // namespace lazyrt
