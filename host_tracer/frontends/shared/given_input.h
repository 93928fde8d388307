#pragma once

// What a caller gives in place of, or in the absence of, a model's own sample inputs.
// Free of LibTorch types.

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "host_tracer/trace/trace.h"

namespace lazyrt {

/// What an input is captured with.
struct GivenInput {
  std::string name;  ///< of the model's signature; inside a tuple, list or dict "h.0", "d.key"
  DType dtype = DType::kNone;
  std::vector<int64_t> shape;
  ConstantData data;  ///< row-major bytes; without them values are made up from a fixed seed
  /// A Python number instead of a tensor; then the rest is empty.
  std::optional<SeenNumber> number;
};

/// Called while work goes on: `stage` is "read", "trace" or "samples"; `done` of `total` steps,
/// total 0 where it is not known.
using CaptureProgress = std::function<void(const char* stage, int64_t done, int64_t total)>;

/// What every front end that reads a file takes.
struct FileOptions {
  std::vector<GivenInput> inputs;
  bool sample_outputs = true;  ///< run eager ATen on the CPU for Trace::sample_outputs
  CaptureProgress progress;    ///< may be empty
};

}  // namespace lazyrt
