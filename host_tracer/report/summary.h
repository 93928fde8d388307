#pragma once

// What an export did, for people and for programs.

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "host_tracer/capture/trace.h"
#include "host_tracer/report/bundle_info.h"

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

/// The bundle against the sample outputs kept in it, on the cpu backend.
struct CheckLine {
  std::string output;
  double max_absolute = 0;  ///< largest |ours - eager's|
  double max_value = 0;     ///< largest |eager's|
  bool ok = false;

  /// max_absolute / max_value; max_absolute itself where eager's output is 0 throughout.
  double relative() const { return max_value > 0 ? max_absolute / max_value : max_absolute; }
};

struct ExportSummary {
  std::string model;  ///< path of the .pt2
  std::string producer;
  size_t captured_nodes = 0;     ///< ATen calls in the trace
  size_t imported_nodes = 0;     ///< our nodes before the passes
  uint64_t parameter_count = 0;  ///< elements of parameters and buffers, tied ones once
  uint64_t parameter_bytes = 0;
  ShapeStats shapes;
  std::vector<PassLine> passes;
  std::vector<std::string> notes;
  std::vector<CheckLine> check;  ///< empty: not checked
  std::string unchecked;         ///< why not, then
  StageTimes seconds;
  BundleInfo bundle;
};

/// Counts parameters and buffers, those that share their bytes once.
void count_parameters(const Trace& trace, ExportSummary* summary);

/// About a screen; ends in a newline.
std::string summary_text(const ExportSummary& summary);
/// {"model", "bundle", "bytes", "inputs", "outputs", "nodes", "passes", "shapes", "notes",
/// "reference_nodes", "check", "seconds", ...}
nlohmann::ordered_json summary_json(const ExportSummary& summary);

}  // namespace lazyrt
