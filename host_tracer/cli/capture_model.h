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
  /// Gets the nesting of arguments and result; may be left empty.
  std::string* interface = nullptr;
  /// Gets the dims that vary in a .pt2; empty for TorchScript. May be null.
  std::optional<std::vector<Pt2Dim>>* file_dims = nullptr;
  /// See TorchScriptOptions. May be null.
  std::optional<std::string>* phases = nullptr;
};

/// Captures a model file of any kind (recognized by its content) for these inputs and their sizes:
/// one trace for each phase of the program, most have one.
Outcome<std::vector<Trace>> capture_model(const std::string& path, std::vector<GivenInput> inputs,
                                          const CaptureSettings& settings);

}  // namespace lazyrt
