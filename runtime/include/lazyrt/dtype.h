#pragma once

#include <cstddef>
#include <cstdint>

namespace lazyrt {

/// Element type of a tensor. The numbers are part of the bundle format (schema/bundle.fbs, DType).
enum class DType : uint8_t {
  kNone = 0,  ///< no tensor: an optional operand that is absent
  kFloat32 = 1,
  kFloat64 = 2,
  kFloat16 = 3,
  kBFloat16 = 4,
  kInt8 = 5,
  kUInt8 = 6,
  kInt16 = 7,
  kInt32 = 8,
  kInt64 = 9,
  kBool = 10,  ///< one byte, 0 or 1
  /// Two in a byte, the first in the low half; in files only: no kernel computes on it.
  kInt4 = 11,
};
/// The types before it have whole bytes, and kernels that compute on them.
constexpr int kDTypeCount = 11;

/// Bits of one element, by type.
inline constexpr uint8_t kDTypeBits[] = {0, 32, 64, 16, 16, 8, 8, 16, 32, 64, 8, 4};
/// Bits of one element; 0 for kNone and for values outside the enum.
constexpr size_t dtype_bits(DType t) {
  return static_cast<unsigned>(t) < sizeof(kDTypeBits) ? kDTypeBits[static_cast<unsigned>(t)] : 0;
}
/// Bytes of one element; 0 for kNone, for values outside the enum and where elements share a byte.
constexpr size_t dtype_size(DType t) { return dtype_bits(t) / 8; }
/// Bytes of `numel` elements. REQUIRES: numel >= 0; they fit size_t.
constexpr size_t dtype_bytes(DType t, int64_t numel) {
  const auto n = static_cast<size_t>(numel);
  const size_t bits = dtype_bits(t);
  return bits % 8 == 0 ? n * (bits / 8) : (n + 8 / bits - 1) / (8 / bits);
}

/// Short name as in dumps and messages: f32, i64, bool; "none" for kNone, "?" outside the enum.
__attribute__((const)) const char* dtype_name(DType t);

constexpr bool is_floating(DType t) {
  return t == DType::kFloat32 || t == DType::kFloat64 || t == DType::kFloat16 ||
         t == DType::kBFloat16;
}
constexpr bool is_integral(DType t) {
  return (t >= DType::kInt8 && t <= DType::kInt64) || t == DType::kInt4;
}

}  // namespace lazyrt
