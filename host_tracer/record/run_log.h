#pragma once

// What one run of a program did, call by call and sync by sync. A later run gets the first one's
// values at its syncs, so that both can be compared.

#include <ATen/core/Tensor.h>
#include <torch/csrc/lazy/core/ir.h>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "host_tracer/trace/trace.h"

namespace lazyrt {

enum class SyncKind : uint8_t {
  kTruth,   ///< a bool, or the count of elements that makes a shape: always a guard
  kNumber,  ///< an integer or floating number
  kTensor,  ///< a whole tensor went to the CPU
  kOpaque,  ///< a result of unknown size, computed and put back as a constant
  kPeek,    ///< a number or tensor that people look at: printed, logged
};

/// One value that left the graph.
struct SyncRecord {
  SyncKind kind = SyncKind::kTruth;
  std::string what;  ///< "item", "bool", "nonzero", "equal", "to cpu", "aten::_unique2"
  std::string text;  ///< for people: "bool(gt(sum(x0), 0))"
  Source source;
  std::vector<at::Tensor> given;  ///< what the program got, on the CPU
  /// The value in the graph: 0-dim, of the type that was read; for kTensor all of it; for kOpaque
  /// empty.
  torch::lazy::Value value;
  TraceValueId id = kNoTraceValue;  ///< `value` in the finished trace
  int64_t position = 0;             ///< calls recorded before it
  bool of_inputs = false;           ///< depends on an input: else on buffers alone
  bool active = false;              ///< its value may differ in a later run of the bundle
  bool check = false;               ///< of kTruth: the program raises on the other value

  at::ScalarType dtype() const { return given.front().scalar_type(); }
};

/// What a later run goes by.
struct RunScript {
  const std::vector<SyncRecord>* syncs = nullptr;  ///< of the first run, whose values are given
  const std::vector<uint64_t>* calls = nullptr;    ///< of the first run
};

class RunLog {
 public:
  /// `script` is null in the first run; it must outlive the log.
  explicit RunLog(const RunScript* script) : script_(script) {}

  bool first_run() const { return script_ == nullptr; }
  /// A call was recorded. Throws when the first run made another one here.
  void call(uint64_t fingerprint);
  /// A value is read on the host: fills `given` by `compute` or from the script; the program gets
  /// copies of it. Throws if the first run had another sync here.
  using Compute = std::function<std::vector<at::Tensor>()>;
  std::vector<at::Tensor> sync(SyncRecord record, const Compute& compute);
  /// At the end: throws if the first run had more calls or syncs.
  void end() const;

  /// True after a throw of this class.
  bool parted() const { return parted_; }
  int64_t position() const { return static_cast<int64_t>(calls_.size()); }
  const std::vector<uint64_t>& calls() const { return calls_; }
  std::vector<SyncRecord>& syncs() { return syncs_; }

 private:
  [[noreturn]] void part() const;
  static std::vector<at::Tensor> replay(const SyncRecord& first, const Compute& compute);

  const RunScript* script_;
  std::vector<uint64_t> calls_;
  std::vector<SyncRecord> syncs_;
  mutable bool parted_ = false;
};

}  // namespace lazyrt
