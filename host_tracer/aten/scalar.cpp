#include "host_tracer/aten/scalar.h"

#include <cmath>
#include <cstring>
#include <limits>

#include "host_tracer/graph/elements.h"

namespace lazyrt {
namespace {

int64_t saturated_int(double v) {
  if (std::isnan(v)) return 0;
  if (v >= 9223372036854775808.0) return std::numeric_limits<int64_t>::max();
  if (v <= -9223372036854775808.0) return std::numeric_limits<int64_t>::min();
  return static_cast<int64_t>(v);
}

/// The type's position in the order of promotion among types of the same category.
int promotion_rank(DType t) {
  switch (t) {
    case DType::kBool:
      return 0;
    case DType::kUInt8:
      return 1;
    case DType::kInt8:
      return 2;
    case DType::kInt16:
      return 3;
    case DType::kInt32:
      return 4;
    case DType::kInt64:
      return 5;
    case DType::kFloat16:
      return 6;
    case DType::kBFloat16:
      return 7;
    case DType::kFloat32:
      return 8;
    case DType::kFloat64:
      return 9;
    case DType::kInt4:
    case DType::kNone:
      break;
  }
  return -1;
}

/// 0 bool, 1 integral, 2 floating; -1 no type.
int category(DType t) {
  if (t == DType::kNone) return -1;
  if (t == DType::kBool) return 0;
  return is_integral(t) ? 1 : 2;
}

DType combine(DType higher, DType lower) {
  if (category(higher) >= category(lower)) return higher;
  return higher == DType::kNone ? lower : promote_types(higher, lower);
}

}  // namespace

Scalar::Scalar(double v) : dtype_(DType::kFloat64), i_(saturated_int(v)), d_(v) {}

void append_element(DType dtype, const Scalar& value, std::vector<uint8_t>& bytes) {
  const size_t at = bytes.size();
  bytes.resize(at + dtype_size(dtype));
  if (is_integral(dtype) && (dtype == DType::kInt64 || is_integral(value.dtype()))) {
    const int64_t integer = value.as_int();  // takes its low bytes: integers wrap, as in ATen
    std::memcpy(bytes.data() + at, &integer, dtype_size(dtype));
  } else {
    write_element(dtype, bytes.data() + at, 0, value.as_double());
  }
}

Scalar read_scalar(DType dtype, const void* data, int64_t index) {
  if (is_floating(dtype)) return read_element(dtype, data, index);
  const int64_t integer = read_integer(dtype, data, index);
  return dtype == DType::kBool ? Scalar(integer != 0) : Scalar(integer);
}

Scalar dtype_max(DType dtype) {
  switch (dtype) {
    case DType::kFloat32:
      return static_cast<double>(std::numeric_limits<float>::max());
    case DType::kFloat64:
      return std::numeric_limits<double>::max();
    case DType::kFloat16:
      return 65504.0;
    case DType::kBFloat16:
      return std::ldexp(255.0, 120);
    case DType::kInt8:
      return 127;
    case DType::kUInt8:
      return 255;
    case DType::kInt16:
      return 32767;
    case DType::kInt32:
      return std::numeric_limits<int32_t>::max();
    case DType::kInt64:
      return std::numeric_limits<int64_t>::max();
    case DType::kBool:
      return true;
    case DType::kInt4:
    case DType::kNone:
      break;
  }
  return 0;
}

Scalar dtype_lowest(DType dtype) {
  if (is_floating(dtype)) return -dtype_max(dtype).as_double();
  if (dtype == DType::kUInt8 || dtype == DType::kBool) return 0;
  return -dtype_max(dtype).as_int() - 1;
}

double dtype_epsilon(DType dtype) {
  switch (dtype) {
    case DType::kFloat64:
      return std::numeric_limits<double>::epsilon();
    case DType::kFloat16:
      return std::ldexp(1.0, -10);
    case DType::kBFloat16:
      return std::ldexp(1.0, -7);
    default:
      return static_cast<double>(std::numeric_limits<float>::epsilon());
  }
}

DType promote_types(DType a, DType b) {
  if (a == b) return a;
  const bool u8_and_signed =
      (a == DType::kUInt8 && b == DType::kInt8) || (a == DType::kInt8 && b == DType::kUInt8);
  if (u8_and_signed) return DType::kInt16;
  const bool two_halves = (a == DType::kFloat16 && b == DType::kBFloat16) ||
                          (a == DType::kBFloat16 && b == DType::kFloat16);
  if (two_halves) return DType::kFloat32;
  return promotion_rank(a) > promotion_rank(b) ? a : b;
}

DType result_type(const std::vector<PromotionOperand>& operands, DType default_real) {
  // One type per class of operand, weakest first: numbers, tensors without dims, tensors.
  DType wrapped = DType::kNone;
  DType zero_dim = DType::kNone;
  DType tensor = DType::kNone;
  for (const PromotionOperand& o : operands) {
    DType current = o.dtype;
    if (o.wrapped_number && is_floating(current)) current = default_real;
    DType& slot = o.wrapped_number ? wrapped : o.zero_dim ? zero_dim : tensor;
    slot = slot == DType::kNone ? current : promote_types(slot, current);
  }
  return combine(tensor, combine(zero_dim, wrapped));
}

}  // namespace lazyrt
