#pragma once

// The steps from a trace to a planned program, shared by all parts of the exporter. Internal to it.

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "host_tracer/compile/exporter.h"
#include "host_tracer/compile/size_comparison.h"
#include "host_tracer/compile/trace_groups.h"

namespace lazyrt {

/// Reports a stage and, when it ends, its time.
class TimedStage {
 public:
  TimedStage(const ExportOptions& options, ExportReport* report, const std::string& name);
  ~TimedStage();
  TimedStage(const TimedStage&) = delete;
  TimedStage& operator=(const TimedStage&) = delete;

 private:
  ExportReport* report_;
  std::string name_;
  std::chrono::steady_clock::time_point start_;
};

/// One program, planned and ready to be written.
struct PlannedVariant {
  TraceGroup group;
  std::optional<Graph> graph;
  MemoryPlan plan;
  std::vector<SamplePair> more_samples;
  std::shared_ptr<const SizedProgram> sized;  ///< nothing where extents are fixed
  uint64_t reserved_bytes = 0;                ///< see MethodVariant
  std::string sizes;                          ///< "seq: 129 to 512": of one of several ranges
};

Outcome<Graph> import_stage(const Trace& trace, const OpTable& ops, const ExportOptions& options,
                            ExportReport* report);

/// Returns hooks that tell the caller about each pass. REQUIRES: `options` outlives it.
PipelineOptions pass_hooks(const ExportOptions& options);

Outcome<Done> pass_stage(Graph& graph, const ExportOptions& options, ExportReport* report);

/// `model`: see plan_memory.
MemoryPlan plan_stage(const Graph& graph, const ExportOptions& options, ExportReport* report,
                      const MemoryPlan* model = nullptr);

}  // namespace lazyrt
