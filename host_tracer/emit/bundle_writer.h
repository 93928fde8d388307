#pragma once

// Writes .lzb files: schema/FORMAT.md.

#include <string>
#include <utility>
#include <vector>

#include "host_tracer/dynamic/unify.h"
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
  /// The name of the file in errors, if it is moved later; empty: its path.
  std::string shown_path;
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

/// Inputs of a run, and the outputs that eager ATen gave for them.
struct SamplePair {
  std::vector<SampleTensor> inputs;
  std::vector<SampleTensor> outputs;
};

/// One program of a method. REQUIRES: `plan` is plan_memory(graph).
struct MethodVariant {
  const Graph& graph;
  const MemoryPlan& plan;
  /// Beside the graph's own sample.
  std::vector<SamplePair> more_samples;
  /// The dynamic graph of which `graph` is an instance at the sample's sizes; nullptr: extents are
  /// fixed.
  const DynamicGraph* dynamic = nullptr;
  uint64_t reserved_bytes = 0;  ///< with `dynamic`: reserved_arena
};

/// Writes a bundle of one method; its variants are tried in this order. Constants are written from
/// where they are, equal ones once. The file appears under `path` only when it is complete; the
/// same arguments give the same bytes. REQUIRES: one variant at least; of several all have one
/// interface and the same states.
Outcome<EmitReport> write_bundle(const std::vector<MethodVariant>& variants,
                                 const EmitOptions& options, const std::string& path);

/// The same for one graph. REQUIRES: `plan` is plan_memory(graph).
Outcome<EmitReport> write_bundle(const Graph& graph, const MemoryPlan& plan,
                                 const EmitOptions& options, const std::string& path);

}  // namespace lazyrt
