#pragma once

// Tests whether a device computes what a bundle's samples say, before it is trusted with anything
// else: drivers are known to miscompile shaders, some of them at some sizes or now and then only.

#include "lazyrt/runtime.h"
#include "lazyrt/watch.h"

namespace lazyrt {

struct SelfTestOptions {
  /// On the backend that is tested, with the fallback for the nodes that it refuses.
  SessionOptions session;
  /// The backend whose values are taken as right if an output is wrong.
  const Backend* trusted = nullptr;
  /// For values, and for samples that have no tolerance of their own.
  Tolerance tolerance = {1e-4, 1e-3};
};

struct SelfTestResult {
  bool ok = true;
  size_t sample = 0;        ///< the first that was not right
  bool varies = false;      ///< two runs of it gave different bytes
  bool is_located = false;  ///< `point` is the first result of a node that differs
  TapPoint point;
};

/// Runs each sample twice, as a session does, and compares the outputs with the file's and with
/// each other. If one is wrong, its sample runs a third time with every value tapped, and on
/// `trusted`. An output that `trusted` gets wrong as well is not the device's fault. The texts of
/// the result's `point` live as long as the method's Program. Returns an error if a session cannot
/// be made, or if `trusted` fails. REQUIRES: `options.session` has no watch.
Result<SelfTestResult> self_test(const Method& method, const SelfTestOptions& options);

}  // namespace lazyrt
