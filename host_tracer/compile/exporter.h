#pragma once

// From a trace to a bundle: import, passes, plan, emit. Free of LibTorch.

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "host_tracer/aten/import.h"
#include "host_tracer/dynamic/shapes.h"
#include "host_tracer/emit/bundle_writer.h"
#include "host_tracer/passes/pipeline.h"
#include "host_tracer/plan/memory_plan.h"
#include "host_tracer/trace/trace.h"

namespace lazyrt {

/// Extents that vary, for traces of one program at several sizes: the sample's, then those at
/// `points` (fit_points). They become one graph of all sizes.
struct DynamicExport {
  DynamicShapes shapes;
  SizePoint sample;
  std::vector<SizePoint> points;
  /// Captures the program at one more point, if these do not determine its numbers or it takes
  /// another path; `compared`: with what the check needs. May be empty, may throw.
  std::function<Outcome<Trace>(const SizePoint& point, bool compared)> capture_at;
};

struct ExportOptions {
  std::string path;  ///< of the .lzb file
  EmitOptions emit;  ///< `info` is extended by what the traces know: kVerdictKey, "source", "note"
  Pipeline pipeline = default_pipeline();
  /// A stage begins ("import", "passes: simplify", "plan", "write") or is at `done` of `total`.
  std::function<void(const std::string& stage, int64_t done, int64_t total)> progress;
  /// Called with the graph after "import" and after each pass, by the pass's name.
  std::function<void(const std::string& pass, const Graph& graph)> after_pass;
  std::optional<DynamicExport> dynamic;
};

/// One node of the finished program, for reports.
struct ExportedNode {
  std::string op;     ///< "conv2d"
  std::string type;   ///< of its first output: "f32[1,112,112,32]"
  std::string attrs;  ///< "stride_h=2, stride_w=2"
  Source source;
};

struct StageTime {
  std::string stage;  ///< "import", "passes", "plan", "write"
  double milliseconds = 0;
};

/// One of the programs in the bundle.
struct ExportedVariant {
  std::vector<size_t> samples;  ///< the traces that this variant covers, by their place in the call
  size_t nodes = 0;
  size_t guards = 0;
  uint64_t arena_bytes = 0;
  /// Where its trace first differs from the first one's; empty for the first.
  std::string difference;
  std::string sizes;  ///< "seq: 129 to 512", of one of several ranges
};

/// With several variants, everything but `file`, `variants`, `notes` and `times` describes the
/// first.
struct ExportReport {
  ImportReport import;
  std::vector<PassReport> passes;
  EmitReport file;
  uint64_t arena_bytes = 0;
  uint64_t arena_lower_bound = 0;  ///< no plan of the same program needs less than this
  size_t in_place = 0;
  size_t views = 0;
  std::vector<Allocation> allocations;  ///< the arena over the nodes, for drawing
  std::vector<ExportedNode> nodes;      ///< in order of execution
  size_t permutes = 0;                  ///< nodes that move data between layouts
  ShapeStats shapes;                    ///< of the trace
  std::vector<std::string> notes;       ///< of the traces
  std::vector<ExportedVariant> variants;
  /// One line for each number that varies with the symbols; empty if all extents are fixed.
  std::vector<std::string> size_rules;
  /// Traces at the ends of ranges, which the check compares with the bundle as well.
  std::vector<Trace> more_traces;
  /// If extents vary and the program seems to differ at some sizes: what to say if the check fails.
  /// Empty: nothing.
  std::string size_doubt;
  /// Whether the program, captured by DynamicExport::capture_at at a point, surely differs from the
  /// bundle's. Empty if extents are fixed. REQUIRES: the export's OpTable lives.
  std::function<Outcome<bool>(const SizePoint& point, const Trace& trace)> is_other_at;
  std::vector<StageTime> times;
};

/// Appends more_traces to the traces of the export, for the check.
void take_more_traces(ExportReport* report, std::vector<Trace>* traces);

/// The names that `after_pass` may give: "import", then those of the pipeline, each once.
std::vector<std::string> dump_points(const Pipeline& pipeline);

/// Exports to options.path. `ops` is the table that the bundle's reader will have. Fails with the
/// importer's list of unsupported operators, a pass's or the writer's failure; nothing is written
/// then, and a file that was there stays.
Outcome<ExportReport> export_trace(const Trace& trace, const OpTable& ops,
                                   const ExportOptions& options);

/// Exports traces of one program on several samples, in the order in which a session tries them.
/// Traces that agree become one variant with several samples, others variants over one set of
/// weights. Beside the failures above kInvalidArgument: the traces have not one interface, or begin
/// with other states, or a trace differs from an earlier one although its sample has the same
/// shapes and breaks none of its guards, so that it would never be chosen. With options.dynamic the
/// traces after the sample's are it at other sizes, and become one program for all of them; traces
/// behind those are not looked at. REQUIRES: one at least.
Outcome<ExportReport> export_traces(const std::vector<Trace>& samples, const OpTable& ops,
                                    const ExportOptions& options);

}  // namespace lazyrt
