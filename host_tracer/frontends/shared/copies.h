#pragma once

#include <ATen/core/ivalue.h>
#include <ATen/core/operator_name.h>

#include <optional>
#include <set>
#include <string>
#include <vector>

namespace lazyrt {

/// Calls that copy or give a view, as their operand lies in memory: contiguous, reshape, to and
/// their like. Lazy tensors lie in rows whatever was done to them. Where a program goes on to write
/// into the result or the operand, or asks for strides, a run on the CPU says which of the calls
/// copy and how tensors lie, and the program is captured anew with that.
class Copies {
 public:
  using Stack = std::vector<c10::IValue>;

  static bool may_copy(const std::string& op);
  /// Calls aten::unsafe_chunk and its like, whose results share their operand's memory without
  /// saying so, by the operator that says so. False, and nothing is called, for all others.
  static bool call_as_view(const c10::OperatorName& op, Stack& stack);

  /// Begins a run of the program: on CPU tensors, to learn what copies, or on lazy tensors.
  void begin(at::Device device);
  /// The result of such a call with these arguments, sharing memory as it would on the CPU.
  at::Tensor take(const Stack& arguments, const at::Tensor& result);
  /// Returns what a call says about strides, as the CPU says it.
  c10::IValue told(const c10::IValue& own);
  /// Throws where the operand of as_strided, which speaks of memory, lies otherwise on the CPU.
  void check_place(const at::Tensor& operand);
  /// The run has ended.
  void end();

  /// Whether a lazy run wrote, or asked, where strides make a difference, before any run on the
  /// CPU.
  bool matter() const { return matter_; }
  /// Whether the strides of inputs can make that difference.
  bool depend_on_strides() const { return depend_on_strides_; }
  /// Whether the last run on the CPU differs from the one before it where that matters.
  bool changed() const { return changed_; }

 private:
  enum class Kind { kCopy, kView, kSame };
  struct Pair {
    size_t call;
    at::Tensor operand, result;
    uint64_t operand_writes, result_writes;
    bool depends_on_strides;
  };

  void compare_runs();

  bool learns_ = false, matter_ = false, depend_on_strides_ = false, changed_ = false;
  size_t calls_ = 0, questions_ = 0;
  std::optional<std::vector<Kind>> kinds_;    ///< each call, on the CPU; none: nobody has asked it
  std::optional<std::vector<Kind>> earlier_;  ///< in the run on the CPU before the last
  std::vector<c10::IValue> answers_, earlier_answers_;  ///< to each question, on the CPU
  std::set<size_t> written_;                            ///< calls where a lazy run has written
  std::vector<Pair> pairs_;
};

}  // namespace lazyrt
