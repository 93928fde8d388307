#include "platforms/posix/lazy_run/element.h"

#include <cmath>
#include <cstring>

namespace lazyrt::run {
namespace {

float widen_half(uint16_t h) {
  const int exponent = (h >> 10) & 31;
  const int mantissa = h & 1023;
  float magnitude = 0;
  if (exponent == 31) {
    magnitude = mantissa != 0 ? NAN : INFINITY;
  } else if (exponent == 0) {
    magnitude = std::ldexp(static_cast<float>(mantissa), -24);
  } else {
    magnitude = std::ldexp(static_cast<float>(mantissa + 1024), exponent - 25);
  }
  return (h & 0x8000) != 0 ? -magnitude : magnitude;
}

float widen_bfloat(uint16_t h) {
  const uint32_t bits = uint32_t{h} << 16;
  float f;
  std::memcpy(&f, &bits, sizeof(f));
  return f;
}

}  // namespace

double element(const TensorView& t, int64_t i) {
  switch (t.dtype) {
    case DType::kFloat32:
      return t.as<float>()[i];
    case DType::kFloat64:
      return t.as<double>()[i];
    case DType::kFloat16:
      return widen_half(t.as<uint16_t>()[i]);
    case DType::kBFloat16:
      return widen_bfloat(t.as<uint16_t>()[i]);
    case DType::kInt8:
      return t.as<int8_t>()[i];
    case DType::kUInt8:
      return t.as<uint8_t>()[i];
    case DType::kInt16:
      return t.as<int16_t>()[i];
    case DType::kInt32:
      return t.as<int32_t>()[i];
    case DType::kInt64:
      return static_cast<double>(t.as<int64_t>()[i]);
    case DType::kBool:
      return t.as<uint8_t>()[i] != 0 ? 1 : 0;
    case DType::kInt4:
    case DType::kNone:
      return 0;
  }
  return 0;
}

}  // namespace lazyrt::run
