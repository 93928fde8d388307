#pragma once

// Whether a program captured at one more size equals the one that was made from captures at other
// sizes. Internal to the exporter.

#include <optional>
#include <string>
#include <vector>

#include "host_tracer/dynamic/alike.h"
#include "host_tracer/dynamic/unify.h"
#include "host_tracer/trace/trace.h"

namespace lazyrt {

/// A program of all sizes, and how its captures were turned into it.
struct SizedProgram {
  DynamicGraph dynamic;
  AlikePasses passes;
  Graph imported;                  ///< one of the captures, before the passes
  std::vector<std::string> calls;  ///< calls_of its trace
};

/// The ATen calls of a trace, in order, without their arguments.
std::vector<std::string> calls_of(const Trace& trace);

struct SizeDifference {
  Source place;  ///< none if results or states differ that are constants
  /// False if the same calls only became other operators, as passes and rules may do if extents
  /// happen to be equal.
  bool is_sure = false;
};

/// Finds where the capture at a point (`own`, as imported) differs from the program of all sizes.
/// `pipeline`: the passes for programs of one size. Fails as passes and DynamicGraph::at do.
Outcome<std::optional<SizeDifference>> find_size_difference(const SizedProgram& program,
                                                            const SizePoint& point,
                                                            const Trace& trace, const Graph& own,
                                                            const Pipeline& pipeline);

}  // namespace lazyrt
