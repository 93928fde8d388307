#pragma once

// The bundle against the program, call by call, after every export. Free of LibTorch types.

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "host_tracer/compile/exporter.h"
#include "host_tracer/report/check_report.h"
#include "host_tracer/report/loaded_bundle.h"
#include "host_tracer/support/outcome.h"
#include "host_tracer/trace/eager_reference.h"

namespace lazyrt {

struct DifferentialOptions {
  CheckLevel level = CheckLevel::kFull;
  size_t calls = 12;           ///< of the program on a sample; more where it keeps something
  double search_seconds = 20;  ///< at most for the first node that differs
  bool rows_of_sizes = false;  ///< calls in a row at sizes beside the sample's, too
  size_t size_calls = 40;      ///< of the program at other sizes, behind each export
  size_t size_captures = 2;    ///< of the program at some of these: see export_checked
  uint64_t seed = 1;           ///< of the altered inputs
  /// The traces are one program at several sizes, and no variants. There is time for each of them.
  bool sizes = false;
  /// Called before each call with "check against eager". May throw; it goes through.
  std::function<void(const std::string& stage, int64_t done, int64_t total)> progress;
  Pipeline pipeline = default_pipeline();  ///< that the bundle was made with
};

/// Runs the bundle, which was made of `traces`, beside the program of each of them: on
/// the sample, again without a reset, then on altered inputs, by turns after a reset and after
/// others, then on both by turns in a row. What it does is limited by calls, not by time. Traces
/// without `eager` stand for their program, by ATen, if none has one; else they are variants and no
/// samples of their own. A difference that is none of rounding (see bound.h) is told in
/// CheckReport::difference. Fails where the bundle does not run on its sample.
Outcome<CheckReport> check_bundle(const LoadedBundle& bundle, const std::vector<Trace>& traces,
                                  const DifferentialOptions& options);

}  // namespace lazyrt
