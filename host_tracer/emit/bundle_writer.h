#pragma once

// Writes .lzb files: schema/FORMAT.md.

#include <string>
#include <utility>
#include <vector>

#include "host_tracer/graph/graph.h"
#include "host_tracer/plan/memory_plan.h"

namespace lazyrt {

struct EmitOptions {
  std::string producer = "lazy-export 0.1.0";
  std::string method = "forward";
  /// For people: versions and options of the export. Nothing that differs between two exports of
  /// the same model, such as times.
  std::vector<std::pair<std::string, std::string>> info;
  bool strip_samples = false;
  /// Tolerance of the samples; both 0 = the runner's default.
  float absolute = 0;
  float relative = 0;
};

struct EmitReport {
  uint64_t file_bytes = 0;
  uint64_t metadata_bytes = 0;
  uint64_t constants_bytes = 0;
  uint64_t samples_bytes = 0;
  size_t constants = 0;       ///< values
  uint64_t shared_bytes = 0;  ///< saved because equal constants are stored once
};

/// Writes the graph as a bundle of one method. Constants are written from where they are. The file
/// appears under `path` only when it is complete; the same arguments give the same bytes.
/// REQUIRES: `plan` is plan_memory(graph).
Outcome<EmitReport> write_bundle(const Graph& graph, const MemoryPlan& plan,
                                 const EmitOptions& options, const std::string& path);

}  // namespace lazyrt
