#pragma once

// How much longer something takes on larger input, whatever else the machine does.

#include <algorithm>
#include <ctime>

namespace lazyrt::test {

/// The least processor time of `times` calls of fn(), in milliseconds.
template <class Fn>
double least_processor_ms(int times, const Fn& fn) {
  double least = 1e12;
  for (int i = 0; i < times; ++i) {
    const std::clock_t begin = std::clock();
    fn();
    least = std::min(least, 1e3 * static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC);
  }
  return least;
}

/// What a step takes at most on four times as many nodes when it is far from quadratic, which
/// would be 16 times as long. The rest is what clocks do not show.
inline double far_from_quadratic(double milliseconds) { return 9 * milliseconds + 10; }

}  // namespace lazyrt::test
