#pragma once

#include <vector>

#include "lazyrt/runtime.h"

namespace lazyrt::run {

/// Milliseconds since an arbitrary start.
double now_ms();

struct Bench {
  std::vector<double> latencies_ms;  ///< of each timed run, in order
  double cpu_ms = 0;                 ///< processor time of one run, all threads

  double median_ms() const;
};

/// Three runs to warm up, then timed runs for `seconds`: at least 5, at most 3000. Every run is a
/// first run: states are put back before it, which is not timed. Throws a Failure. REQUIRES: all
/// inputs are set.
Bench measure(Session* session, double seconds);

}  // namespace lazyrt::run
