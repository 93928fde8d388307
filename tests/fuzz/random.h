#pragma once

#include <cstdint>
#include <random>
#include <vector>

namespace lazyrt::fuzz {

/// The draws of one mutation.
class Random {
 public:
  explicit Random(uint64_t seed) : random_(seed) {}

  /// 0 .. n-1. REQUIRES: n > 0.
  size_t below(size_t n) { return static_cast<size_t>(random_() % n); }
  bool one_in(size_t n) { return below(n) == 0; }
  template <class T>
  T& any(std::vector<T>& of) {
    return of[below(of.size())];
  }
  template <class T, size_t kCount>
  T any(const T (&of)[kCount]) {
    return of[below(kCount)];
  }

 private:
  std::mt19937_64 random_;
};

}  // namespace lazyrt::fuzz
