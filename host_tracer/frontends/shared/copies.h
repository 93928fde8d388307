#pragma once

#include <ATen/core/Tensor.h>

#include <optional>
#include <string>
#include <vector>

namespace lazyrt {

/// contiguous, reshape, flatten and ravel copy or give a view, as their operand lies in memory.
/// Lazy tensors lie in rows whatever was done to them, so that these give views of them. Where a
/// program goes on to write into the result or the operand, a run on the CPU says which of the
/// calls copy, and the program is captured anew with those copies.
class Copies {
 public:
  static bool may_copy(const std::string& op);

  /// A run of the program begins: on CPU tensors to learn, or on lazy ones.
  void begin(at::Device device);
  /// The result of such a call, or a copy of it where the CPU makes one.
  at::Tensor take(const at::Tensor& operand, const at::Tensor& result);
  /// The run has ended.
  void end();

  /// Whether a lazy run wrote where a copy makes a difference, before any run on the CPU.
  bool matter() const { return matter_; }

 private:
  struct View {
    at::Tensor operand, result;
    uint32_t operand_version, result_version;
  };

  bool learns_ = false, matter_ = false;
  size_t calls_ = 0;
  std::optional<std::vector<bool>> copied_;  ///< each call, on the CPU; none: nobody has asked it
  std::vector<View> views_;
};

}  // namespace lazyrt
