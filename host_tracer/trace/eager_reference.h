#pragma once

// The program itself, kept beside its trace, to be asked what it gives for other inputs.
// Free of LibTorch types.

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "host_tracer/trace/trace.h"

namespace lazyrt {

/// One of the results of a call: a tensor, a number, or, if neither is set, None.
struct ResultValue {
  SampleTensor tensor;
  std::optional<SeenNumber> number;
};

/// What a call of the program gave.
struct EagerRun {
  std::vector<ResultValue> outputs;  ///< one for each of the trace's outputs
  std::string raised;                ///< what the program threw; there are no outputs then
  /// How the result is nested or typed differently from the captured one.
  std::string other_structure;
};

/// Calls the program on copies of `inputs`, one for each of the trace's. With `reset`, its state is
/// that of the export at first, else what the last call left. The owner restores the program.
struct EagerReference {
  /// "sample 1", where the trace's inputs are the caller's own, beside the first sample: where
  /// extents vary, the bundle has to take them. Empty elsewhere.
  std::string sample;
  /// The program may not run here (it names another device): then the trace is used in its place.
  bool may_be_foreign = false;
  std::function<EagerRun(const std::vector<SampleTensor>& inputs, bool reset)> call;
  /// Whether it may be called with the inputs of the program's other samples, too.
  bool takes_other_samples = false;
  /// Whether calls through the references of other samples continue from the state that its calls
  /// leave.
  bool shares_state = false;
  /// The program's line, inside of `call`; may be empty.
  std::function<Source()> source_of;
  /// For people: where the last of these calls, which begin after a reset, first differs from a
  /// first call on the sample; empty: nowhere. May be empty itself.
  std::function<std::string(const std::vector<std::vector<SampleTensor>>& calls)> explain;
  /// Whole numbers that the program's code names, and others that it holds, as extents of its
  /// tensors: it may compare sizes with them. Groups, the likeliest first. May be empty itself.
  std::function<std::vector<std::vector<int64_t>>()> numbers;
};

}  // namespace lazyrt
