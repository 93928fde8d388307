#pragma once

// Whether a program captured at one more size is the one that was made of its captures at others.
// Internal to the exporter.

#include <optional>
#include <string>
#include <vector>

#include "host_tracer/dynamic/alike.h"
#include "host_tracer/dynamic/unify.h"
#include "host_tracer/trace/trace.h"

namespace lazyrt {

/// A program of sizes, and how the captures that it was made of became it.
struct SizedProgram {
  DynamicGraph dynamic;
  AlikePasses passes;
  Graph imported;                  ///< one of the captures, before the passes
  std::vector<std::string> calls;  ///< calls_of its trace
};

/// The ATen calls of a trace, in order, without their arguments.
std::vector<std::string> calls_of(const Trace& trace);

struct SizeDifference {
  Source place;  ///< none where results or states differ that are constants
  /// Not so where the same calls only came to other operators, as passes and rules may do where
  /// extents happen to be equal.
  bool is_sure = false;
};

/// Where a capture at a point, `own` as it was imported, is another program than that of all sizes.
/// `pipeline`: the passes of programs of one size. Fails as passes and DynamicGraph::at do.
Outcome<std::optional<SizeDifference>> find_size_difference(const SizedProgram& program,
                                                            const SizePoint& point,
                                                            const Trace& trace, const Graph& own,
                                                            const Pipeline& pipeline);

}  // namespace lazyrt
