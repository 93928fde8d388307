#pragma once

#include <string>

#include "lazyrt/span.h"

namespace lazyrt::fuzz {

/// How lazy-run is called: JSON or text, with profile, taps and trace, as a benchmark (a method
/// without samples always is), on cpu; and which method. One bit each, the method by the bits
/// above.
enum ReportChoice : uint32_t {
  kAsJson = 1,
  kWithProfile = 2,
  kWithTaps = 4,
  kWithTrace = 8,
  kAsBenchmark = 16,
  kOnCpu = 32,
  kFirstMethodBit = 64
};

/// Runs the bundle as lazy-run does, in this process, and reads its report. Gives what is wrong
/// with that: a byte that a terminal acts on, JSON that does not parse; empty: nothing. A bundle
/// that is refused has no report. `reported`, if given, counts those that have one.
std::string report_fault(Span<const uint8_t> file, uint32_t choice, int* reported = nullptr);

}  // namespace lazyrt::fuzz
