#pragma once

// Numbers that one thread adds to and any thread reads.

#include <cstdint>

namespace lazyrt {

/// REQUIRES: no other thread writes it.
inline void add_to(uint64_t* counter, uint64_t n) {
  __atomic_store_n(counter, *counter + n, __ATOMIC_RELAXED);
}

inline uint64_t read_counter(const uint64_t& counter) {
  return __atomic_load_n(&counter, __ATOMIC_RELAXED);
}

}  // namespace lazyrt
