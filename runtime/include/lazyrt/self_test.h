#pragma once

// Whether a device computes what a bundle's samples say, asked before it is trusted with anything
// else: drivers are known to miscompile shaders, at some sizes only or now and then.

#include "lazyrt/runtime.h"
#include "lazyrt/watch.h"

namespace lazyrt {

struct SelfTestOptions {
  /// On the backend that is judged, with what runs the nodes that it refuses.
  SessionOptions session;
  /// Whose values count where an output is wrong.
  const Backend* trusted = nullptr;
  /// Of values, and of samples that have none of their own.
  Tolerance tolerance = {1e-4, 1e-3};
};

struct SelfTestResult {
  bool ok = true;
  size_t sample = 0;        ///< the first that was not right
  bool varies = false;      ///< two runs of it gave different bytes
  bool is_located = false;  ///< `point` is the first result of a node that differs
  TapPoint point;
};

/// Runs each sample twice as a session does, and compares the outputs with the file's and with each
/// other. If one is wrong, its sample runs a third time with every value tapped, and on `trusted`.
/// What `trusted` makes no better is not the device's fault. The result's `point` is of the
/// method's Program. An error: a session cannot be made, or `trusted` fails. REQUIRES:
/// `options.session` has no watch.
Result<SelfTestResult> self_test(const Method& method, const SelfTestOptions& options);

}  // namespace lazyrt
