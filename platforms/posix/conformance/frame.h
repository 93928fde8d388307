#pragma once

#include <cstdint>

#include "platforms/posix/conformance/case_runner.h"

namespace lazyrt::conformance {

/// What a worker process says of each case, before the message's bytes.
struct Frame {
  Outcome::Kind kind = Outcome::Kind::kPassed;
  uint32_t message_bytes = 0;
  double max_error = 0;
  double milliseconds = 0;
};

inline Frame frame_of(const Outcome& o) {
  return {o.kind, static_cast<uint32_t>(o.message.size()), o.max_error, o.milliseconds};
}

/// With room for the message.
inline Outcome outcome_of(const Frame& frame) {
  return {frame.kind, frame.max_error, frame.milliseconds, std::string(frame.message_bytes, ' ')};
}

enum class Answer : uint8_t { kWhole, kEnded, kLate };

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
      }
      done(next, outcome);
    }
  }
}

}  // namespace lazyrt::conformance
