#pragma once

#include <algorithm>
#include <cstdlib>
#include <vector>

#include "lazyrt/runtime.h"

namespace lazyrt::test {

/// Floats on the heap, so that AddressSanitizer sees what goes past their end.
class FloatMemory {
 public:
  /// `shift`: bytes that it is off its alignment.
  explicit FloatMemory(size_t count, size_t tail = kTailBytes, size_t shift = 0)
      : bytes(count * sizeof(float) + tail) {
    if (posix_memalign(&block_, kAlignment, bytes + shift) != 0) std::abort();
    data = reinterpret_cast<float*>(static_cast<char*>(block_) + shift);
    std::fill(data, data + count, -7.0f);
  }
  ~FloatMemory() { std::free(block_); }
  FloatMemory(const FloatMemory&) = delete;
  FloatMemory& operator=(const FloatMemory&) = delete;

  std::vector<float> values(size_t count) const { return {data, data + count}; }

  float* data;
  size_t bytes;  ///< tail included

 private:
  void* block_ = nullptr;
};

}  // namespace lazyrt::test
