#include "host_tracer/graph/elements.h"

#include <cmath>
#include <cstring>
#include <limits>

namespace lazyrt {
namespace {

template <class T>
T load(const void* data, int64_t i) {
  T x;
  std::memcpy(&x, static_cast<const uint8_t*>(data) + static_cast<size_t>(i) * sizeof(T),
              sizeof(T));
  return x;
}

template <class T>
void store(void* data, int64_t i, T x) {
  std::memcpy(static_cast<uint8_t*>(data) + static_cast<size_t>(i) * sizeof(T), &x, sizeof(T));
}

/// A binary float of `exponent_bits` and `mantissa_bits`, as f16 (5, 10) and bf16 (8, 7).
double decode_small_float(uint16_t bits, int exponent_bits, int mantissa_bits) {
  const int bias = (1 << (exponent_bits - 1)) - 1;
  const int exponent = (bits >> mantissa_bits) & ((1 << exponent_bits) - 1);
  const int mantissa = bits & ((1 << mantissa_bits) - 1);
  const double sign = (bits & 0x8000) != 0 ? -1.0 : 1.0;
  if (exponent == (1 << exponent_bits) - 1) {
    return mantissa != 0 ? std::numeric_limits<double>::quiet_NaN() : sign * INFINITY;
  }
  if (exponent == 0) return sign * std::ldexp(mantissa, 1 - bias - mantissa_bits);
  return sign * std::ldexp(mantissa + (1 << mantissa_bits), exponent - bias - mantissa_bits);
}

uint16_t encode_small_float(double x, int exponent_bits, int mantissa_bits) {
  const int bias = (1 << (exponent_bits - 1)) - 1;
  const auto infinity = static_cast<uint16_t>(((1 << exponent_bits) - 1) << mantissa_bits);
  const uint16_t sign = std::signbit(x) ? 0x8000 : 0;
  if (std::isnan(x)) return static_cast<uint16_t>(sign | infinity | (1 << (mantissa_bits - 1)));
  const double a = std::fabs(x);
  if (a == 0) return sign;
  if (std::isinf(a)) return static_cast<uint16_t>(sign | infinity);
  int exponent = std::ilogb(a);
  if (exponent < 1 - bias) exponent = 1 - bias;  // subnormal
  // In units of the last place; rint may carry into the exponent, which the sum below takes along.
  const auto units = static_cast<int64_t>(std::rint(std::ldexp(a, mantissa_bits - exponent)));
  const int64_t bits = (static_cast<int64_t>(exponent + bias - 1) << mantissa_bits) + units;
  return static_cast<uint16_t>(sign | (bits >= infinity ? infinity : bits));
}

template <class T>
T to_integer(double x) {
  if (std::isnan(x)) return 0;
  constexpr double low = static_cast<double>(std::numeric_limits<T>::min());
  constexpr double high = static_cast<double>(std::numeric_limits<T>::max());
  if (x <= low) return std::numeric_limits<T>::min();
  if (x >= high) return std::numeric_limits<T>::max();
  return static_cast<T>(x);
}

}  // namespace

double read_element(DType dtype, const void* data, int64_t i) {
  switch (dtype) {
    case DType::kFloat32:
      return static_cast<double>(load<float>(data, i));
    case DType::kFloat64:
      return load<double>(data, i);
    case DType::kFloat16:
      return decode_small_float(load<uint16_t>(data, i), 5, 10);
    case DType::kBFloat16:
      return decode_small_float(load<uint16_t>(data, i), 8, 7);
    default:
      return static_cast<double>(read_integer(dtype, data, i));
  }
}

int64_t read_integer(DType dtype, const void* data, int64_t i) {
  switch (dtype) {
    case DType::kInt8:
      return load<int8_t>(data, i);
    case DType::kUInt8:
      return load<uint8_t>(data, i);
    case DType::kInt16:
      return load<int16_t>(data, i);
    case DType::kInt32:
      return load<int32_t>(data, i);
    case DType::kInt64:
      return load<int64_t>(data, i);
    case DType::kBool:
      return load<uint8_t>(data, i) != 0;
    default:
      return 0;
  }
}

void write_element(DType dtype, void* data, int64_t i, double value) {
  switch (dtype) {
    case DType::kFloat32:
      return store(data, i, static_cast<float>(value));
    case DType::kFloat64:
      return store(data, i, value);
    case DType::kFloat16:
      return store(data, i, encode_small_float(value, 5, 10));
    case DType::kBFloat16:
      return store(data, i, encode_small_float(value, 8, 7));
    case DType::kInt8:
      return store(data, i, to_integer<int8_t>(value));
    case DType::kUInt8:
      return store(data, i, to_integer<uint8_t>(value));
    case DType::kInt16:
      return store(data, i, to_integer<int16_t>(value));
    case DType::kInt32:
      return store(data, i, to_integer<int32_t>(value));
    case DType::kInt64:
      return store(data, i, to_integer<int64_t>(value));
    case DType::kBool:
      return store(data, i, static_cast<uint8_t>(value != 0));
    case DType::kInt4:
    case DType::kNone:
      return;
  }
}

}  // namespace lazyrt
