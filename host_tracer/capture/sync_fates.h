#pragma once

// What became of the values that left the graph: guards, baked values, notes.

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "host_tracer/capture/capture_session.h"
#include "host_tracer/capture/compare_traces.h"

namespace lazyrt {

/// A value of the sample that is in the graph.
struct BakedValue {
  TraceDifference difference;
  std::vector<size_t> syncs;  ///< the syncs that it may have come from; empty: from none
  bool of_sites = false;      ///< each stands for all syncs of its site
};

/// What later runs showed.
struct Evidence {
  bool checked = false;          ///< there were later runs
  std::set<std::string> steers;  ///< sites whose value changes the program's path
  std::vector<BakedValue> baked;
};

/// True for syncs whose value a later run may change: numbers and tensors, not truth values.
bool is_variable(const SyncRecord& sync);
/// True when the two runs got the same there.
bool same_given(const SyncRecord& a, const SyncRecord& b);

/// Finds out which syncs of the first run a difference to the second may come from.
class Origins {
 public:
  Origins(const CapturedRun& first, const CapturedRun& second);

  /// The sync whose two values are the ones that differ, else all sites before it that changed.
  BakedValue of(const TraceDifference& difference) const;

 private:
  struct Change {
    size_t sync = 0;
    size_t site = 0;
    int64_t position = 0;
  };

  std::optional<size_t> exact(const TraceDifference& difference, int64_t position) const;

  const CapturedRun& first_;
  const CapturedRun& second_;
  std::map<std::string, size_t> sites_;
  std::vector<Change> changes_;
  std::map<std::pair<double, double>, size_t> numbers_;  ///< both values, to its sync
  std::vector<size_t> tensors_;
};

/// Turns the first run into the trace: adds guards, syncs and findings, and takes out what nothing
/// needs.
Trace settle(CapturedRun run, const Evidence& evidence);

}  // namespace lazyrt
