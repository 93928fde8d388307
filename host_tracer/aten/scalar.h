#pragma once

// Single numbers as ATen passes them, and their form as tensor elements.

#include <cstdint>
#include <vector>

#include "lazyrt/dtype.h"

namespace lazyrt {

/// A Python number: bool, int or float. Integers keep all 64 bits.
class Scalar {
 public:
  Scalar(bool v) : dtype_(DType::kBool), i_(v ? 1 : 0), d_(v ? 1.0 : 0.0) {}
  Scalar(int64_t v) : dtype_(DType::kInt64), i_(v), d_(static_cast<double>(v)) {}
  Scalar(int v) : Scalar(static_cast<int64_t>(v)) {}
  Scalar(double v);

  /// kBool, kInt64 or kFloat64: the number's category.
  DType dtype() const { return dtype_; }
  double as_double() const { return d_; }
  /// Truncated towards zero and clamped into int64; 0 for NaN.
  int64_t as_int() const { return i_; }
  bool as_bool() const { return d_ != 0.0; }

 private:
  DType dtype_;
  int64_t i_;
  double d_;
};

/// Appends the number as one element of `dtype`. An integer type takes the low bytes, as ATen wraps
/// them; a floating number becomes the nearest integer of the type; floats round to nearest even.
void append_element(DType dtype, const Scalar& value, std::vector<uint8_t>& bytes);
/// Element `index` of a row-major buffer, as a number of its category.
Scalar read_scalar(DType dtype, const void* data, int64_t index);

/// Largest finite value of a floating type, or of an integral one.
Scalar dtype_max(DType dtype);
/// Smallest finite value.
Scalar dtype_lowest(DType dtype);
/// Distance from 1 to the next value, as torch.finfo(dtype).eps.
double dtype_epsilon(DType dtype);

/// An operand as PyTorch's type promotion sees it.
struct PromotionOperand {
  DType dtype = DType::kNone;
  bool zero_dim = false;        ///< a tensor without dimensions
  bool wrapped_number = false;  ///< a Python number
};

/// The smallest type that holds both, as torch.promote_types.
DType promote_types(DType a, DType b);
/// The common type of the operands, as torch.result_type with this default type of real numbers.
DType result_type(const std::vector<PromotionOperand>& operands,
                  DType default_real = DType::kFloat32);

}  // namespace lazyrt
