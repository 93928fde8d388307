#pragma once

// What a rule sees: one ATen call of the trace, and the graph that it writes to.

#include <array>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "host_tracer/aten/emitter.h"
#include "host_tracer/trace/trace.h"

namespace lazyrt {

inline constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// What the importer stores about the trace while it runs.
struct ImportState {
  const Trace* trace = nullptr;
  std::vector<ValueId> values;  ///< by TraceValueId; kNoValue: not imported (yet)
  std::vector<int> uses;        ///< by TraceValueId: how often a live node or output reads it
  std::vector<bool> is_static;  ///< by ValueId
  bool any_size = false;        ///< as Emitter's
};

/// Accessors fail (and the failure sticks, as in the emitter) if an argument is absent or of
/// another type; the text names the argument.
class RuleContext : public Emitter {
 public:
  /// `wide`: the rule sees operands and results of 16-bit floating types as f32, as eager's kernels
  /// compute; set() rounds. Numbers beside them are rounded first if eager does so.
  RuleContext(Graph& graph, ImportState& state, const TraceNode& node, bool wide = false);

  const TraceNode& node() const { return node_; }

  // Arguments by their schema name.
  /// True when the argument is there and not None.
  bool has(const char* name) const;
  /// True if the argument is a tensor, or a Python number that was passed as one.
  bool is_tensor(const char* name) const;
  ValueId tensor(const char* name);
  /// kNoValue for None.
  ValueId optional_tensor(const char* name);
  std::vector<ValueId> tensors(const char* name);  ///< kNoValue for undefined ones
  /// A tensor, or a number as a 0-dim constant.
  ValueId operand(const char* name);
  int64_t integer(const char* name);
  int64_t integer_or(const char* name, int64_t fallback);
  bool boolean(const char* name);
  bool boolean_or(const char* name, bool fallback);
  /// Returns a number; a constant tensor of one element counts, too.
  Scalar number(const char* name);
  Scalar number_or(const char* name, const Scalar& fallback);
  std::string text_or(const char* name, const std::string& fallback);
  std::vector<int64_t> ints(const char* name);
  std::vector<int64_t> ints_or(const char* name, std::vector<int64_t> fallback);
  std::vector<double> doubles_or(const char* name, std::vector<double> fallback);
  /// Returns extents for height and width from a list of 2 ints, 1 (for both) or 0 (`fallback`);
  /// for a 1-D operator (`spatial` = 1) the height is `unit`.
  std::array<int64_t, 2> pair(const char* name, int spatial, int64_t unit,
                              std::array<int64_t, 2> fallback);
  /// The same for depth, height and width: dims that the operator does not have are `unit`.
  std::array<int64_t, 3> triple(const char* name, int spatial, int64_t unit,
                                std::array<int64_t, 3> fallback);
  /// The dim argument as an axis of `x`.
  int axis_arg(const char* name, ValueId x);
  /// A list of dims as ascending axes of `x`; all of them when it is None or empty.
  std::vector<int> axes_arg(const char* name, ValueId x);

  /// How this operand, or Python number, takes part in type promotion.
  PromotionOperand promotion(const char* name);
  /// The common type of two operands.
  DType promoted(const char* a, const char* b);

  // Results of the call, as the trace has them.
  DType out_dtype(size_t i = 0) const;
  /// The same, except that 16-bit types, which are computed in f32 and rounded, are f32.
  DType trace_dtype(size_t i = 0) const;
  Shape out_shape(size_t i = 0) const;
  size_t out_count() const { return node_.outputs.size(); }
  bool used(size_t i) const;
  /// Sets result i to `v`, cast to the trace's dtype. Fails if the shapes differ.
  void set(size_t i, ValueId v);
  void set(ValueId v) { set(0, v); }
  bool is_set(size_t i) const;

  /// Refuses the call because of the way it is called here; `why` continues the sentence after the
  /// op's name.
  ValueId refuse(const std::string& why) { return fail(Error::kUnsupported, why); }
  /// Records a failure about an argument.
  ValueId fail_arg(const char* name, const std::string& why);

 private:
  const TraceArg* arg(const char* name, const char* expected);
  ValueId value_of(TraceValueId id, const char* name);
  DType widened(DType dtype) const;
  ValueId widened(ValueId v, const char* name);
  DType half_of_operands() const;
  const TraceValue* trace_value(const char* name) const;

  ImportState& state_;
  const TraceNode& node_;
  const bool wide_;
  const DType half_;  ///< for a wide call on numbers: the 16-bit type that its operands promote to
  std::vector<bool> set_;
};

}  // namespace lazyrt
