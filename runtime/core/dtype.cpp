#include "lazyrt/dtype.h"

namespace lazyrt {

const char* dtype_name(DType t) {
  static constexpr const char* kNames[] = {"none", "f32", "f64", "f16", "bf16", "i8",
                                           "u8",   "i16", "i32", "i64", "bool", "i4"};
  constexpr unsigned kCount = sizeof(kNames) / sizeof(kNames[0]);
  return static_cast<unsigned>(t) < kCount ? kNames[static_cast<unsigned>(t)] : "?";
}

}  // namespace lazyrt
