#pragma once

#include <time.h>

#include <algorithm>

namespace lazyrt {

/// What some work has taken so far, in seconds: processor time of this thread, so that a busy
/// machine gets as far as an idle one, but a quarter of the wall time at least.
class SpentTime {
 public:
  double seconds() const {
    return std::max(read(CLOCK_THREAD_CPUTIME_ID) - processor_,
                    (read(CLOCK_MONOTONIC) - wall_) / kMostOfWall);
  }

 private:
  static constexpr double kMostOfWall = 4;

  static double read(clockid_t clock) {
    timespec now{};
    clock_gettime(clock, &now);
    return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
  }

  double processor_ = read(CLOCK_THREAD_CPUTIME_ID);
  double wall_ = read(CLOCK_MONOTONIC);
};

}  // namespace lazyrt
