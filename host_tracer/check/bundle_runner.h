#pragma once

// A bundle on the cpu backend, its results in the order of the program's. Free of LibTorch types.

#include <memory>
#include <string>
#include <vector>

#include "host_tracer/capture/eager_reference.h"
#include "host_tracer/support/outcome.h"
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
  /// Opens the file's only method. It may be removed while the runner lives.
  static Outcome<std::unique_ptr<BundleRunner>> open(const std::string& path);

  /// Fails as Session::run does; states are then what they were.
  Outcome<BundleRun> run(const std::vector<SampleTensor>& inputs, bool reset);

 private:
  BundleRunner(Program program, Session session);
  Outcome<BundleRun> collect() const;

  Program program_;
  Method method_;
  Session session_;
};

}  // namespace lazyrt
