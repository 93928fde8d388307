#pragma once

// A C++ module or function becomes a bundle in one call. Link lazyrt_cpp.

#include <string>
#include <vector>

#include "host_tracer/check/differential_check.h"
#include "host_tracer/exporter.h"
#include "host_tracer/frontends/cpp/trace.h"

namespace lazyrt {

struct ModuleExportOptions {
  TraceOptions trace;
  DifferentialOptions check;  ///< of the bundle against the program; its pipeline is not read
  ExportOptions exporter;     ///< `path` is not read
};

/// What export_module did.
struct ModuleExport {
  ExportReport exported;
  CheckReport checked;
};

/// Writes a trace to `path` and runs the bundle beside the program, several times, on its sample
/// and on other inputs. A BROKEN trace is refused (kUnsupported, its errors in the text; allow
/// findings by their ids in TraceOptions::check), and so is a bundle that gives something else
/// (kInternal): there is no file then, or the one from before.
Outcome<ModuleExport> export_trace_to(const Trace& trace, const std::string& path,
                                      const ModuleExportOptions& options = {});

/// trace() and export_trace_to().
template <class Program>
Outcome<ModuleExport> export_module(const Program& program,
                                    const std::vector<at::Tensor>& example_inputs,
                                    const std::string& path,
                                    const ModuleExportOptions& options = {}) {
  auto captured = trace(program, example_inputs, options.trace);
  if (!captured.ok()) return captured.failure();
  return export_trace_to(*captured, path, options);
}

}  // namespace lazyrt
