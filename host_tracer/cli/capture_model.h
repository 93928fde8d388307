#pragma once

#include <optional>
#include <string>
#include <vector>

#include "host_tracer/frontends/pt2/pt2_dims.h"
#include "host_tracer/frontends/shared/given_input.h"
#include "host_tracer/support/outcome.h"
#include "host_tracer/trace/trace.h"

namespace lazyrt {

struct CaptureSettings {
  bool sample_outputs = true;      ///< run eager, too
  bool second_trace = true;        ///< of a TorchScript file
  std::vector<std::string> allow;  ///< ids of findings that are warnings instead of errors
  CaptureProgress progress;
  std::string* interface = nullptr;  ///< gets the nesting of arguments and result; may stay empty
  /// Gets the dims that vary in a .pt2; stays empty for TorchScript. May be null.
  std::optional<std::vector<Pt2Dim>>* file_dims = nullptr;
};

/// Captures a model file of whatever kind it is (by its content), once for these inputs, at their
/// sizes.
Outcome<Trace> capture_model(const std::string& path, std::vector<GivenInput> inputs,
                             const CaptureSettings& settings);

}  // namespace lazyrt
