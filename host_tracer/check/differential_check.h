#pragma once

// Compares the bundle with the program, call by call, after every export. Free of LibTorch types.

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
  size_t calls = 12;           ///< calls of the program on a sample; more if it keeps state
  double search_seconds = 20;  ///< at most, to find the first node that differs
  bool rows_of_sizes = false;  ///< also make calls in a row at sizes other than the sample's
  size_t size_calls = 40;      ///< calls of the program at other sizes, after each export
  size_t size_captures = 2;    ///< captures of the program at some of these: see export_checked
  uint64_t seed = 1;           ///< of the altered inputs
  /// The traces are one program at several sizes, not variants. There are calls for each of them.
  bool sizes = false;
  /// Called before each call with "check against eager". May throw; the exception is passed on.
  std::function<void(const std::string& stage, int64_t done, int64_t total)> progress;
  Pipeline pipeline = default_pipeline();  ///< that the bundle was made with
};

/// Runs the bundle, which was made from `traces`, beside the program of each of them: on the
/// sample, again without a reset, then on altered inputs, alternately after a reset and after other
/// calls, then on both alternately in a row. The number of calls limits it, not time. If no trace
/// has `eager`, the traces stand for their program, evaluated by ATen; otherwise traces without it
/// are variants and not samples of their own. CheckReport::difference holds a difference that is
/// not rounding (see bound.h). Fails if the bundle does not run on its sample.
Outcome<CheckReport> check_bundle(const LoadedBundle& bundle, const std::vector<Trace>& traces,
                                  const DifferentialOptions& options);

}  // namespace lazyrt
