#pragma once

// Tensor memory that shows who writes or reads outside: guard bytes before and after, and for
// AddressSanitizer an allocation that ends exactly kTailBytes after the data.

#include <cstdlib>
#include <memory>

#include "lazyrt/tensor_view.h"

namespace lazyrt {

class GuardedBlock {
 public:
  /// `bytes` at a multiple of kAlignment, all set to a pattern that reads as NaN.
  explicit GuardedBlock(size_t bytes);

  void* data() const { return memory_.get() + kAlignment; }
  size_t bytes() const { return bytes_; }
  /// Whether nobody wrote before or after the data.
  bool guards_intact() const;

 private:
  struct Free {
    void operator()(uint8_t* p) const { std::free(p); }
  };
  size_t bytes_;
  std::unique_ptr<uint8_t[], Free> memory_;
};

/// A tensor that owns guarded memory. Absent (dtype kNone) tensors own nothing of interest.
class GuardedTensor {
 public:
  GuardedTensor(DType dtype, const Shape& shape);

  const TensorView& view() const { return view_; }
  bool guards_intact() const { return block_.guards_intact(); }
  /// Element i as a double, for comparison. Exact but for i64 beyond 2^53.
  double at(int64_t i) const;
  /// Rounds or wraps to the dtype.
  void set(int64_t i, double value);
  GuardedTensor clone() const;

 private:
  TensorView view_;
  GuardedBlock block_;
};

}  // namespace lazyrt
