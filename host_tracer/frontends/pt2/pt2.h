#pragma once

// The .pt2 front end: reads what torch.export.save wrote, without Python, and captures it.
// Free of LibTorch types.

#include <optional>
#include <string>
#include <vector>

#include "host_tracer/frontends/pt2/pt2_dims.h"
#include "host_tracer/frontends/shared/given_input.h"
#include "host_tracer/support/outcome.h"
#include "host_tracer/trace/trace.h"

namespace lazyrt {

/// inputs: by name; the others come from the file's samples.
struct Pt2Options : FileOptions {
  bool static_shapes = false;  ///< accept dynamic dims; the trace has the sizes of its inputs
  /// Gets the dims that vary in the file, with static_shapes: see dims_of_file. May be null.
  std::optional<std::vector<Pt2Dim>>* dims = nullptr;
  /// Gets what calls and results are like (see shared/interface.h) where the tensors' names do not
  /// say it all: numbers among the results, or demands on how inputs lie in memory. May be null.
  std::string* interface = nullptr;
};

/// Captures the program in a .pt2 file. Inputs are named and ordered as in its signature. Refuses
/// by name what cannot go on: files of another kind, dynamic dims (see static_shapes), control
/// flow. An output that is None or a
/// Python number has an empty sample (DType::kNone). kInvalidBundle: the file; kInvalidArgument:
/// options.inputs, sizes that break a guard of the file; kUnsupported: the program.
Outcome<Trace> capture_pt2(const std::string& path, const Pt2Options& options);

}  // namespace lazyrt
