#pragma once

// A C++ module or function becomes a bundle in one call. Link lazyrt_cpp.

#include <string>
#include <vector>

#include "host_tracer/check/differential_check.h"
#include "host_tracer/compile/exporter.h"
#include "host_tracer/compile/sized_traces.h"
#include "host_tracer/frontends/cpp/trace.h"

namespace lazyrt {

struct ModuleExportOptions {
  TraceOptions trace;
  /// Dims of inputs that vary; the program is captured at several sizes then. E.g. x and mask of
  /// one batch, and x of several lengths:
  ///   options.dynamic = {{"x0", 0, "batch", 1, 8}, {"x1", 0, "batch"}, {"x0", 1, "seq", 1, 512}};
  std::vector<DynamicDim> dynamic;
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
/// (kInternal): there is no file then, or the one from before. options.dynamic is not read.
Outcome<ModuleExport> export_trace_to(const Trace& trace, const std::string& path,
                                      const ModuleExportOptions& options = {});

/// Runs trace_program(), at several sizes if options.dynamic says so, and export_trace_to(). Fails
/// as these and capture_sizes do.
Outcome<ModuleExport> export_program(const CppProgram& program,
                                     const std::vector<at::Tensor>& example_inputs,
                                     const std::string& path,
                                     const ModuleExportOptions& options = {});

/// The same of a module or function.
template <class Program>
Outcome<ModuleExport> export_module(const Program& program,
                                    const std::vector<at::Tensor>& example_inputs,
                                    const std::string& path,
                                    const ModuleExportOptions& options = {}) {
  return export_program(as_program(program), example_inputs, path, options);
}

}  // namespace lazyrt
