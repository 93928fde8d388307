#pragma once

// Keeps threads apart. A platform without threads sets LAZYRT_THREADS=0: then this does nothing,
// and all calls come from one thread (Session::cancel may also come from an interrupt).

#ifndef LAZYRT_THREADS
#define LAZYRT_THREADS 1
#endif

#include <cstdint>

#if LAZYRT_THREADS
#include <mutex>
#endif

namespace lazyrt {

#if LAZYRT_THREADS
using Mutex = std::mutex;
#else
class Mutex {
 public:
  void lock() {}
  void unlock() {}
};
#endif

/// Holds the mutex while it lives.
class Lock {
 public:
  explicit Lock(Mutex& mutex) : mutex_(mutex) { mutex_.lock(); }
  Lock(const Lock&) = delete;
  Lock& operator=(const Lock&) = delete;
  ~Lock() { mutex_.unlock(); }

 private:
  Mutex& mutex_;
};

// Numbers that one thread writes and any thread reads.

inline uint64_t read_counter(const uint64_t& counter) {
#if LAZYRT_THREADS
  return __atomic_load_n(&counter, __ATOMIC_RELAXED);
#else
  return counter;
#endif
}

/// REQUIRES: no other thread writes it.
inline void set_counter(uint64_t* counter, uint64_t n) {
#if LAZYRT_THREADS
  __atomic_store_n(counter, n, __ATOMIC_RELAXED);
#else
  *counter = n;
#endif
}

/// REQUIRES: as above.
inline void add_to(uint64_t* counter, uint64_t n) { set_counter(counter, *counter + n); }

}  // namespace lazyrt
