#pragma once

// What an export did, for people and for programs.

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "host_tracer/report/bundle_info.h"
#include "host_tracer/report/check_report.h"
#include "host_tracer/trace/trace.h"

namespace lazyrt {

struct PassLine {
  std::string name;
  size_t nodes_before = 0;
  size_t nodes_after = 0;
  size_t changes = 0;
  double milliseconds = 0;
};

/// Seconds of each stage.
struct StageTimes {
  double trace = 0;   ///< read the file, capture, eager's sample outputs
  double passes = 0;  ///< import and passes
  double emit = 0;    ///< plan and write
  double check = 0;
};

/// Leaves of the trace of one kind: what the program reads and does not make.
struct LeafLine {
  std::string kind;  ///< "input", "parameter", "buffer", "state", "constant", "literal", "baked"
  size_t count = 0;
  uint64_t bytes = 0;  ///< shared bytes once
};

/// A guard, as text.
struct SeenGuard {
  std::string text;
  std::string seen;
  Source source;
  bool check = false;
};

/// What the memory plan reached, beside the arena itself.
struct PlanLine {
  uint64_t arena_lower_bound = 0;  ///< no plan of the same program needs less
  size_t in_place = 0;
  size_t views = 0;
  size_t permutes = 0;  ///< nodes that only move data between layouts
};

struct ExportSummary {
  std::string model;  ///< path of the model file
  std::string producer;
  Verdict verdict = Verdict::kSound;
  std::vector<Finding> findings;  ///< of all traces, equal ones once
  std::vector<SeenGuard> guards;
  std::vector<TraceSync> syncs;
  std::vector<std::string> states;  ///< names of the buffers that became state
  std::vector<LeafLine> leaves;     ///< of the first trace
  size_t traces = 1;
  PlanLine plan;
  std::string model_sha256;      ///< 64 hex digits, or empty: no file
  std::string bundle_sha256;     ///< the same
  std::string command_line;      ///< empty: not exported by a command
  size_t captured_nodes = 0;     ///< ATen calls in the trace
  size_t imported_nodes = 0;     ///< our nodes before the passes
  uint64_t parameter_count = 0;  ///< elements of parameters and buffers, tied ones once
  uint64_t parameter_bytes = 0;
  ShapeStats shapes;
  std::vector<PassLine> passes;
  std::vector<std::string> notes;
  std::string size_doubt;  ///< ExportReport::size_doubt
  size_t captures = 0;     ///< runs of the program to trace it; 0: they were not counted
  size_t eager_calls = 0;  ///< its other runs, those of the check among them
  CheckReport check;
  StageTimes seconds;
  BundleInfo bundle;
};

/// Counts parameters and buffers, those that share their bytes once.
void count_parameters(const Trace& trace, ExportSummary* summary);

/// Adds the traces' notes that the summary does not have yet.
void describe_notes(const std::vector<Trace>& traces, ExportSummary* summary);

/// What the traces say: verdict, findings, guards, syncs, states, leaves, nodes, shapes, notes.
/// REQUIRES: !traces.empty().
void describe_traces(const std::vector<Trace>& traces, ExportSummary* summary);

/// The verdict and what led to it: findings, guards, states; ends in a newline.
std::string verdict_text(const ExportSummary& summary);
/// What a finding is called in a report: its severity, or "allowed".
const char* finding_word(const Finding& finding);
/// What no export looks at, in a sentence: see host_tracer/VERDICTS.md, "The contract".
std::string out_of_scope_text();
/// "2 captures, 14 calls of eager"; empty: they were not counted.
std::string runs_text(const ExportSummary& summary);
/// How many findings of each id were allowed: "baked-value 2, random 1"; empty: none.
std::string allowed_text(const ExportSummary& summary);
/// About a screen, the verdict first; ends in a newline.
std::string summary_text(const ExportSummary& summary);
/// {"verdict", "findings", "allowed", "guards", "syncs", "leaves", "model", "bundle", "bytes",
/// "inputs", "outputs", "nodes", "passes", "shapes", "notes", "reference_nodes", "check",
/// "checked", "seconds", ...}
nlohmann::ordered_json summary_json(const ExportSummary& summary);
/// The part of it that is known of a trace that gave no bundle: {"verdict", "findings", "allowed",
/// "guards", "syncs", "states", "leaves", "notes", "out_of_scope"}
nlohmann::ordered_json verdict_json(const ExportSummary& summary);

}  // namespace lazyrt
