#pragma once

// Runs a bundle on the cpu backend; its results are in the program's order. Free of LibTorch types.

#include <memory>
#include <string>
#include <vector>

#include "host_tracer/support/outcome.h"
#include "host_tracer/trace/eager_reference.h"
#include "lazyrt/runtime.h"

namespace lazyrt {

/// What a run of a bundle gave.
struct BundleRun {
  size_t variant = 0;
  std::vector<ResultValue> outputs;  ///< tensors and numbers; they own their bytes
  std::vector<std::string> names;    ///< of the outputs
};

class BundleRunner {
 public:
  /// Makes a runner for the program's only method. REQUIRES: the program outlives the runner.
  static Outcome<std::unique_ptr<BundleRunner>> make(const Program& program);

  /// Fails as Session::run does; states then keep their content from before.
  Outcome<BundleRun> run(const std::vector<SampleTensor>& inputs, bool reset);

 private:
  BundleRunner(const Method& method, Session session);
  Outcome<BundleRun> collect() const;

  Method method_;
  Session session_;
};

}  // namespace lazyrt
