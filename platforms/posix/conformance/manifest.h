#pragma once

// What a folder of bundles holds: FOLDER/manifest.json, written by tests/conformance/make_bundles.

#include <optional>
#include <string>
#include <vector>

#include "lazyrt/runtime.h"

namespace lazyrt::conformance {

/// One run of a session. A sample begins with the states of a new session; arrays from files go on
/// with what the steps before left.
struct Step {
  std::optional<size_t> sample;      ///< of the method: inputs, outputs and the variant that runs
  std::vector<std::string> inputs;   ///< else .npy files below the folder, in the method's order
  std::vector<std::string> outputs;  ///< likewise
  std::string error;  ///< the error that the run must return, by error_name; empty: ok
};

/// A case: a method of a bundle, run step by step on each backend.
struct Case {
  std::string id;      ///< "ops/conv2d/grouped"
  std::string bundle;  ///< below the folder
  std::string method;
  std::vector<Step> steps;
  std::string load_error;  ///< the error that opening the bundle must return; empty: ok
  Tolerance tolerance;     ///< both 0: the sample's tolerance, else lazy-run's
};

/// Reads FOLDER/manifest.json. Throws a run::Failure that names what is wrong with it.
std::vector<Case> read_manifest(const std::string& folder);

}  // namespace lazyrt::conformance
