#pragma once

// The C++ types of tensor elements, conversion between them, and a visitor from DType to type.

#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>

#include "kernels/common/kept.h"
#include "lazyrt/dtype.h"
#include "runtime/core/fault.h"

namespace lazyrt {

/// One byte of a bool tensor. Any non-zero byte reads as true; writes 0 or 1.
struct Bool {
  uint8_t byte = 0;
  Bool() = default;
  constexpr Bool(bool b) : byte(b ? 1 : 0) {}
  constexpr operator bool() const { return byte != 0; }
};

/// IEEE binary16 as stored; converts to and from float, rounding to nearest even.
struct Half {
  uint16_t bits = 0;
  Half() = default;
  explicit Half(float value);
  operator float() const;
};

/// Upper half of a binary32 as stored; converts to and from float, rounding to nearest even.
struct BFloat16 {
  uint16_t bits = 0;
  BFloat16() = default;
  explicit BFloat16(float value);
  operator float() const;
};

template <class T>
constexpr bool kIsFloat =
    std::is_floating_point_v<T> || std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>;

/// The DType of a C++ element type.
template <class T>
constexpr DType kDTypeOf = DType::kNone;
template <>
inline constexpr DType kDTypeOf<float> = DType::kFloat32;
template <>
inline constexpr DType kDTypeOf<double> = DType::kFloat64;
template <>
inline constexpr DType kDTypeOf<Half> = DType::kFloat16;
template <>
inline constexpr DType kDTypeOf<BFloat16> = DType::kBFloat16;
template <>
inline constexpr DType kDTypeOf<int8_t> = DType::kInt8;
template <>
inline constexpr DType kDTypeOf<uint8_t> = DType::kUInt8;
template <>
inline constexpr DType kDTypeOf<int16_t> = DType::kInt16;
template <>
inline constexpr DType kDTypeOf<int32_t> = DType::kInt32;
template <>
inline constexpr DType kDTypeOf<int64_t> = DType::kInt64;
template <>
inline constexpr DType kDTypeOf<Bool> = DType::kBool;

/// A type as a function argument.
template <class T>
struct Type {
  using type = T;
};
template <class... Ts>
struct Types {};

using FloatTypes = Types<float, double>;
using NumberTypes = Types<float, double, int64_t, int32_t, int16_t, int8_t, uint8_t>;
using ComputeTypes = Types<float, double, int64_t, int32_t, int16_t, int8_t, uint8_t, Bool>;
using AllTypes =
    Types<float, double, Half, BFloat16, int64_t, int32_t, int16_t, int8_t, uint8_t, Bool>;
using IndexTypes = Types<int64_t, int32_t>;

/// Calls f(Type<T>{}) if `dtype` is T's and this build keeps T.
template <class T, class F>
bool visit_if([[maybe_unused]] DType dtype, [[maybe_unused]] Fault* status, [[maybe_unused]] F& f) {
  if constexpr (keeps(kDTypeOf<T>)) {
    if (dtype == kDTypeOf<T>) return *status = f(Type<T>{}), true;
  }
  return false;
}

/// Calls f(Type<T>{}) with the C++ type of `dtype` and returns its Fault; kUnsupported if the list
/// does not contain the type, or this build does not keep it.
template <class... Ts, class F>
Fault visit_dtype(Types<Ts...>, DType dtype, F&& f) {
  Fault status;
  const bool found = (visit_if<Ts>(dtype, &status, f) || ...);
  return found ? status : Fault(Error::kUnsupported, "no kernel for type %s", dtype_name(dtype));
}

/// Returns f(type), or kUnsupported if this build keeps no elements of this many bytes.
template <class U, class F>
Fault visit_size([[maybe_unused]] Type<U> type, [[maybe_unused]] F& f) {
  if constexpr (keeps_size(sizeof(U)))
    return f(type);
  else
    return Fault(Error::kUnsupported, "no kernel for elements of %zu bytes", sizeof(U));
}

/// Calls f(Type<U>{}) with the unsigned type of this many bytes, for kernels that only move
/// elements, and returns its Fault; kUnsupported if this build does not keep the size.
template <class F>
Fault visit_element_size(size_t bytes, F&& f) {
  switch (bytes) {
    case 1:
      return visit_size(Type<uint8_t>{}, f);
    case 2:
      return visit_size(Type<uint16_t>{}, f);
    case 4:
      return visit_size(Type<uint32_t>{}, f);
    default:
      return visit_size(Type<uint64_t>{}, f);
  }
}

/// Conversion as torch's `to`: floating to integer truncates (into i64 with saturation, NaN to 0,
/// then wraps), integers wrap, bool is "not zero".
template <class To, class From>
To convert(From value) {
  if constexpr (std::is_same_v<To, Bool>) {
    if constexpr (kIsFloat<From>)
      return Bool(static_cast<double>(value) != 0);
    else
      return Bool(static_cast<int64_t>(value) != 0);
  } else if constexpr (kIsFloat<To>) {
    if constexpr (std::is_same_v<To, double> || std::is_same_v<To, float>)
      return static_cast<To>(value);
    else
      return To(static_cast<float>(value));
  } else if constexpr (kIsFloat<From>) {
    const double d = static_cast<double>(value);
    if (std::isnan(d)) return To(0);
    if (d >= 9223372036854775808.0) return static_cast<To>(std::numeric_limits<int64_t>::max());
    if (d < -9223372036854775808.0) return static_cast<To>(std::numeric_limits<int64_t>::min());
    return static_cast<To>(static_cast<int64_t>(d));
  } else {
    return static_cast<To>(static_cast<int64_t>(value));
  }
}

inline float float_from_bits(uint32_t bits) {
  float value;
  std::memcpy(&value, &bits, sizeof(value));
  return value;
}
inline uint32_t float_bits(float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, sizeof(bits));
  return bits;
}

inline Half::operator float() const {
  const uint32_t sign = static_cast<uint32_t>(bits & 0x8000) << 16;
  const uint32_t exponent = bits >> 10 & 31;
  const uint32_t fraction = bits & 1023;
  if (exponent == 31) return float_from_bits(sign | 0x7f800000 | fraction << 13);
  if (exponent != 0) return float_from_bits(sign | (exponent + 112) << 23 | fraction << 13);
  const float magnitude = static_cast<float>(fraction) * 5.9604644775390625e-8f;  // 2^-24
  return sign != 0 ? -magnitude : magnitude;
}

inline Half::Half(float value) {
  const uint32_t all = float_bits(value);
  const uint32_t sign = all >> 16 & 0x8000;
  const uint32_t magnitude = all & 0x7fffffff;
  uint32_t half;
  if (magnitude > 0x7f800000) {
    half = 0x7e00;
  } else if (magnitude >= 0x47800000) {  // 65536 and above
    half = 0x7c00;
  } else if (magnitude < 0x38800000) {  // below the smallest normal, 2^-14
    half = static_cast<uint32_t>(std::nearbyint(float_from_bits(magnitude) * 16777216.0f));
  } else {
    half = (magnitude + 0xfff + (magnitude >> 13 & 1) - 0x38000000) >> 13;
  }
  bits = static_cast<uint16_t>(sign | half);
}

inline BFloat16::operator float() const {
  return float_from_bits(static_cast<uint32_t>(bits) << 16);
}

inline BFloat16::BFloat16(float value) {
  const uint32_t all = float_bits(value);
  bits = std::isnan(value) ? uint16_t{0x7fc0}
                           : static_cast<uint16_t>((all + 0x7fff + (all >> 16 & 1)) >> 16);
}

}  // namespace lazyrt
