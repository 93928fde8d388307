#pragma once

// Compares a bundle with eager, value by value: which node is the first whose result differs. Free
// of LibTorch types.

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "host_tracer/report/loaded_bundle.h"
#include "host_tracer/support/outcome.h"
#include "host_tracer/trace/trace.h"

namespace lazyrt {

struct CompareOptions {
  const Backend* backend = nullptr;  ///< nullptr: cpu_backend()
  int threads = 1;
  /// The largest allowed error of a floating element, relative to the largest of its tensor; 0: the
  /// bound of the check after an export, from how far eager moves under rounding.
  double relative = 0;
  uint64_t seed = 1;  ///< for the last-place changes by which that is measured
  /// Called as during an export. May throw; the exception is passed on.
  std::function<void(const std::string& stage, int64_t done, int64_t total)> progress;
};

/// What a result of a node is compared with.
enum class ExpectedBy : uint8_t {
  kNothing,  ///< `why` says why
  kEager,    ///< a value of the trace, computed by ATen
  /// Not a value of the trace: computed from eager's values by the node's reference kernel.
  kReference,
};

/// A result of a node of the bundle.
struct ComparedValue {
  size_t node = 0;  ///< in the variant
  size_t result = 0;
  size_t value = 0;
  std::string name;  ///< tap_name
  std::string op;
  std::string backend;
  std::string type;  ///< "f32[1,32,112,112]"
  Source source;
  ExpectedBy expected = ExpectedBy::kNothing;
  std::string why;  ///< of kNothing
  bool ok = true;
  double max_error = 0;     ///< largest |error| of finite elements
  double max_value = 0;     ///< largest finite |eager's|
  double of_bound = 0;      ///< largest error over what is allowed
  std::string worst;        ///< "element [0,3] is 1.5, eager's 1.25"
  bool operands_ok = true;  ///< of !ok: none of its operands differs

  /// "node 3, features.0/conv2d (aten::convolution at features.0 (model.py:12))"
  std::string place() const;
};

struct NodeComparison {
  std::string method;
  size_t variant = 0;                 ///< whose nodes these are
  std::vector<ComparedValue> values;  ///< in order of execution, up to the end of the run
  std::optional<size_t> first;        ///< of values: the first that differs
  std::string run_failed;             ///< why the run ended early; empty: it did not
  bool is_exact = false;              ///< a new export of the model gives this very program
  size_t compared = 0;
  size_t by_eager = 0;
  std::vector<std::string> notes;
};

/// Runs the bundle's only method as a first run on the trace's sample inputs, and compares each
/// value. `trace` is the model's, captured now; the nodes of the bundle are found in what the
/// exporter makes of it. kInvalidArgument: the inputs are not the bundle's; kUnsupported: the trace
/// cannot be exported or evaluated.
Outcome<NodeComparison> compare_nodes(const LoadedBundle& bundle, const Trace& trace,
                                      const CompareOptions& options);

}  // namespace lazyrt
