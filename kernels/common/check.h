#pragma once

// The checks that every shape rule uses. They return a message that names the op, the attribute or
// operand, and the bad value. Attributes and operands come from untrusted bundles.

#include <cstdint>

#include "kernels/common/dtype_set.h"
#include "runtime/core/fault.h"
#include "runtime/op/op_def.h"

namespace lazyrt {

/// Most bytes that one tensor may have; keeps every offset computation inside int64.
constexpr int64_t kMaxTensorBytes = int64_t{1} << 62;

/// Checks the number of operands and results against `def`, and for every operand that its type is
/// known, its extents are not negative and its size is at most kMaxTensorBytes. Call it first.
Fault check_operands(Word op, const OpDef& def, Span<const TensorSpec> inputs,
                     Span<const TensorSpec> outputs);

/// The operand's type is one of `allowed`.
Fault check_dtype(Word op, Word operand, const TensorSpec& spec, DTypeSet allowed);
/// Checks that the operand has exactly / at least this many dims.
Fault check_rank(Word op, Word operand, const TensorSpec& spec, int rank);
Fault check_min_rank(Word op, Word operand, const TensorSpec& spec, int rank);
/// Checks that the operand, if it is present, has this type and shape.
Fault check_operand(Word op, Word operand, const TensorSpec& spec, DType dtype, const Shape& shape);
/// low <= value <= high.
Fault check_range(Word op, Word attribute, int64_t value, int64_t low, int64_t high);
/// 0 <= axis < rank.
Fault check_axis(Word op, int64_t axis, int rank);
/// Checks min and max of a fused clamp: no NaN, and min <= max.
Fault check_clamp(Word op, float min, float max);
/// epsilon is finite and not negative.
Fault check_epsilon(Word op, double epsilon);

/// Sets a result's type and shape, after the same checks as for operands.
Fault set_output(Word op, TensorSpec* output, DType dtype, const Shape& shape);

/// One dim of a sliding window.
struct Window {
  Word dim = "";       ///< "height" or "width", for messages
  int64_t extent = 0;  ///< of the input
  int64_t kernel = 1;
  int64_t stride = 1;
  int64_t pad_before = 0;
  int64_t pad_after = 0;
  int64_t dilation = 1;
  bool ceil_mode = false;
};
/// Counts windows by torch's rule; refuses hostile values and a kernel wider than the padded input.
Fault count_windows(Word op, const Window& window, int64_t* count);

/// Returns the operand, or an absent one if the list is too short.
template <class T>
const T& operand_or_absent(Span<const T> operands, size_t i) {
  static const T kAbsent{};
  return i < operands.size() ? operands[i] : kAbsent;
}

/// Returns the length of an attribute vector, which may be missing.
template <class Vector>
int64_t attribute_size(const Vector* v) {
  return v == nullptr ? 0 : static_cast<int64_t>(v->size());
}
/// Returns an attribute vector of at most kMaxRank numbers. REQUIRES: its length was checked.
template <class Vector>
Shape attribute_list(const Vector* v) {
  Shape out;
  for (int64_t i = 0; i < attribute_size(v); ++i) {
    out.append(v->Get(static_cast<flatbuffers::uoffset_t>(i)));
  }
  return out;
}
/// Checks that the attribute vector has `expected` numbers, which must be at most kMaxRank.
template <class Vector>
Fault check_length(Word op, Word attribute, const Vector* v, int64_t expected) {
  return attribute_size(v) == expected
             ? Fault()
             : Fault(Error::kInvalidArgument, "%s: %s has %lld numbers, must have %lld", op,
                     attribute, static_cast<long long>(attribute_size(v)),
                     static_cast<long long>(expected));
}
/// Checks that the axes are distinct and in [0, rank); returns them as a bit set.
template <class Vector>
Fault read_axes(Word op, const Vector* axes, int rank, uint32_t* set) {
  *set = 0;
  for (int64_t i = 0; i < attribute_size(axes); ++i) {
    const int64_t axis = axes->Get(static_cast<flatbuffers::uoffset_t>(i));
    LAZYRT_RETURN_IF_ERROR(check_axis(op, axis, rank));
    if ((*set >> axis & 1) != 0) {
      return Fault(Error::kInvalidArgument, "%s: axis %lld is given twice", op,
                   static_cast<long long>(axis));
    }
    *set |= 1u << axis;
  }
  return Fault();
}

}  // namespace lazyrt
