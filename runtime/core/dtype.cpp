#include "lazyrt/dtype.h"

namespace lazyrt {

const char* dtype_name(DType t) {
  static constexpr const char* kNames[] = {
#include "lazyrt/dtype_names.inc"
  };
  constexpr unsigned kCount = sizeof(kNames) / sizeof(kNames[0]);
  static_assert(kCount == sizeof(kDTypeBits));
  return static_cast<unsigned>(t) < kCount ? kNames[static_cast<unsigned>(t)] : "?";
}

}  // namespace lazyrt
