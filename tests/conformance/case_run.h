#pragma once

// Draws a case's operands and runs it by a kernel the way a session does: infer, select, prepare,
// run.

#include <memory>
#include <random>

#include "flatbuffers/flatbuffers.h"
#include "kernels/common/op_case.h"
#include "runtime/backend/backend.h"
#include "runtime/op/op_def.h"
#include "tests/conformance/guarded_tensor.h"

namespace lazyrt {

/// The seed of this process: LAZYRT_SEED, else a fixed one. Tests print it when they fail.
uint64_t conformance_seed();

/// Attributes as bytes, with every scalar field written even where it has its default.
class PackedAttrs {
 public:
  explicit PackedAttrs(const fb::OpAttrsUnion& attrs);

  OpAttrs view() const {
    return {kind_, flatbuffers::GetRoot<flatbuffers::Table>(builder_.GetBufferPointer())};
  }
  /// The same for tests that break attributes in place.
  flatbuffers::Table* mutable_table();
  const flatbuffers::TypeTable* type() const;
  /// {"fn":"Relu","alpha":0.0}
  std::string json() const;

 private:
  fb::OpAttrs kind_;
  flatbuffers::FlatBufferBuilder builder_;
};

/// The operands, filled from `seed`.
std::vector<GuardedTensor> draw_operands(const OpCase& op_case, uint64_t seed);

/// Specs as the exporter would give them: constants carry their bytes.
std::vector<TensorSpec> operand_specs(const OpCase& op_case,
                                      const std::vector<GuardedTensor>& operands);

/// One node with its results allocated after the shape rule.
struct CaseNode {
  CaseNode(const OpEntry& entry, const OpCase& op_case, uint64_t seed);

  const OpEntry& op;
  PackedAttrs attrs;
  std::vector<GuardedTensor> operands;
  std::vector<TensorSpec> inputs;
  std::vector<TensorSpec> outputs;
  Status inferred;  ///< the rest of `outputs` is meaningless if this is an error

  NodeSpec spec() const { return {attrs.view(), inputs, outputs}; }
};

struct CaseResult {
  Status status;
  std::string misuse;  ///< written outside, operands changed, second run differs, memory not freed
  std::vector<GuardedTensor> outputs;
};

/// Runs the node twice by `kernel`. `services` is the backend's, or nullptr.
CaseResult run_kernel(const CaseNode& node, const Kernel& kernel, void* services);

/// Runs the reference with output 0 over operand `input`. REQUIRES: same type and shape.
CaseResult run_in_place(const CaseNode& node, size_t input);

/// Empty, or where `actual` differs from `expected` by more than tolerance * max(1, max
/// |expected|). NaN must meet NaN, infinities and integers must be equal.
std::string difference(const GuardedTensor& expected, const GuardedTensor& actual,
                       double tolerance);

/// An allocator that counts blocks not yet freed.
struct CountingAllocator {
  int64_t live = 0;
  Allocator hooks();
};

/// The services of a backend while this object lives.
class OpenBackend {
 public:
  OpenBackend(const Backend* backend, int threads);
  ~OpenBackend();
  OpenBackend(const OpenBackend&) = delete;
  OpenBackend& operator=(const OpenBackend&) = delete;

  const Status& status() const { return status_; }
  void* services() const { return services_; }

 private:
  const Backend* backend_;
  CountingAllocator allocator_;
  void* services_ = nullptr;
  Status status_;
};

}  // namespace lazyrt
