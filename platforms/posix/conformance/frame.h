#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <string>

#include "platforms/posix/conformance/case_runner.h"

namespace lazyrt::conformance {

/// What a worker process reports about each case, before the message's bytes. The worker ran a
/// bundle that may be hostile: the reader trusts only what is_valid has checked.
struct Frame {
  Outcome::Kind kind = Outcome::Kind::kPassed;
  uint32_t message_bytes = 0;
  double max_error = 0;
  double milliseconds = 0;
};

/// The longest message that crosses the pipe; of a longer one only the beginning does.
constexpr uint32_t kMostMessageBytes = 1 << 16;

inline Frame frame_of(const Outcome& o) {
  const auto bytes = std::min<size_t>(o.message.size(), kMostMessageBytes);
  return {o.kind, static_cast<uint32_t>(bytes), o.max_error, o.milliseconds};
}

/// Whether a worker can have found an error of this kind by itself, and the length is one that
/// frame_of gives.
inline bool is_valid(const Frame& frame) {
  return frame.kind <= Outcome::Kind::kUnsupported && frame.message_bytes <= kMostMessageBytes;
}

/// With room for the message. REQUIRES: is_valid.
inline Outcome outcome_of(const Frame& frame) {
  return {frame.kind, frame.max_error, frame.milliseconds, std::string(frame.message_bytes, ' ')};
}

enum class Answer : uint8_t { kWhole, kEnded, kLate, kGarbled };

/// Runs all cases through `make_worker(first)`, a process that works from one index on, with
/// next(deadline, &outcome) and end(), which ends it and says how it ended.
template <class MakeWorker>
void collect(size_t count, double limit_seconds, double (*now_ms)(), const MakeWorker& make_worker,
             const std::function<void(size_t, const Outcome&)>& done) {
  for (size_t next = 0; next < count;) {
    auto worker = make_worker(next);
    for (bool alive = true; alive && next < count; ++next) {
      Outcome outcome;
      const Answer answer = worker.next(now_ms() + limit_seconds * 1e3, &outcome);
      alive = answer == Answer::kWhole;
      if (answer == Answer::kEnded) {
        outcome = {Outcome::Kind::kCrashed, 0, 0, "its process " + worker.end()};
      } else if (answer == Answer::kLate) {
        (void)worker.end();
        outcome = {Outcome::Kind::kTimedOut, 0, limit_seconds * 1e3, "took longer than it may"};
      } else if (answer == Answer::kGarbled) {
        (void)worker.end();
        outcome = {Outcome::Kind::kCrashed, 0, 0, "its process sent bytes that are no result"};
      }
      done(next, outcome);
    }
  }
}

}  // namespace lazyrt::conformance
