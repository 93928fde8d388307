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
};
constexpr int kDTypeCount = 11;

/// Bytes of one element; 0 for kNone and for values outside the enum.
constexpr size_t dtype_size(DType t) {
  constexpr uint8_t kSizes[kDTypeCount] = {0, 4, 8, 2, 2, 1, 1, 2, 4, 8, 1};
  return static_cast<unsigned>(t) < kDTypeCount ? kSizes[static_cast<unsigned>(t)] : 0;
}

/// Short name as in dumps and messages: f32, i64, bool; "none" for kNone, "?" outside the enum.
constexpr const char* dtype_name(DType t) {
  constexpr const char* kNames[kDTypeCount] = {"none", "f32", "f64", "f16", "bf16", "i8",
                                               "u8",   "i16", "i32", "i64", "bool"};
  return static_cast<unsigned>(t) < kDTypeCount ? kNames[static_cast<unsigned>(t)] : "?";
}

constexpr bool is_floating(DType t) {
  return t == DType::kFloat32 || t == DType::kFloat64 || t == DType::kFloat16 ||
         t == DType::kBFloat16;
}
constexpr bool is_integral(DType t) { return t >= DType::kInt8 && t <= DType::kInt64; }

}  // namespace lazyrt
