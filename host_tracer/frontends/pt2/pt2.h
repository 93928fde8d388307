#pragma once

// The .pt2 front end: reads what torch.export.save wrote, without Python, and captures it.
// Free of LibTorch types.

#include <string>
#include <vector>

#include "host_tracer/capture/trace.h"
#include "host_tracer/frontends/shared/given_input.h"
#include "host_tracer/support/outcome.h"

namespace lazyrt {

/// inputs: by name; the others come from the file's samples.
struct Pt2Options : FileOptions {
  bool static_shapes = false;  ///< accept dynamic dims and fix them at the samples' sizes
  /// Gets what calls and results are like (see shared/interface.h) where the tensors' names do not
  /// say it all: numbers among the results, or demands on how inputs lie in memory. May be null.
  std::string* interface = nullptr;
};

/// Captures the program in a .pt2 file. Inputs are named and ordered as in its signature. Refuses
/// by name what cannot go on: files of another kind, dynamic dims (see static_shapes), control
/// flow. An output that is None or a
/// Python number has an empty sample (DType::kNone). kInvalidBundle: the file; kInvalidArgument:
/// options.inputs; kUnsupported: the program.
Outcome<Trace> capture_pt2(const std::string& path, const Pt2Options& options);

}  // namespace lazyrt
