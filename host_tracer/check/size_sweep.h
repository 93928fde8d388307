#pragma once

// Runs a bundle beside its program at many sizes. It finds what captures at some sizes do not show:
// a program that does something else at one size. Free of LibTorch types.

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "host_tracer/compile/exporter.h"
#include "host_tracer/report/loaded_bundle.h"
#include "host_tracer/support/outcome.h"
#include "host_tracer/trace/eager_reference.h"

namespace lazyrt {

struct SizeSweepOptions {
  size_t calls = 40;        ///< of the program, at most
  size_t most_parting = 8;  ///< points that are reported at once
  uint64_t seed = 1;        ///< for the inputs that differ in their last places
  /// Called at each point. May throw; the exception is passed on.
  std::function<void(size_t done, size_t total)> progress;
};

struct SizeSweep {
  std::vector<SizePoint> alike;    ///< points at which both give the same
  std::vector<SizePoint> parting;  ///< where their results are far apart
};

/// Whether results are further apart than rounding is likely to take them: a suspicion, which the
/// check has to confirm. `moved` gives the program's results for inputs that differ in the last
/// places; it is asked only where it matters.
bool far_apart(const std::vector<ResultValue>& ours, const EagerRun& eager,
               const std::function<EagerRun()>& moved);

/// Runs the bundle and the program of `sample` at sweep_points that were not `tried`, on the
/// sample's inputs as they are stretched, after a reset; at some of the points on larger numbers,
/// too, and, where the program has states, on the first again. Sizes that one of both refuses are
/// left out. Ends after some calls, or where it has found some points. Fails where the bundle
/// cannot be run at all. REQUIRES: sample.eager.
Outcome<SizeSweep> sweep_sizes(const LoadedBundle& bundle, const Trace& sample,
                               const DynamicExport& sizes, const std::vector<SizePoint>& tried,
                               const SizeSweepOptions& options);

}  // namespace lazyrt
