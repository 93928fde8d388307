#pragma once

#include <atomic>
#include <cstdint>

#include "runtime/core/fault.h"
#include "runtime/platform/platform.h"

namespace lazyrt {

/// What ends a run before its last node: a call of cancel, or its deadline.
class RunStop {
 public:
  /// Begins a run: earlier calls of cancel do not count. `deadline` is in nanoseconds, 0 = none.
  void begin(uint64_t deadline) {
    cancelled_.store(false, std::memory_order_relaxed);
    has_deadline_ = deadline != 0;
    if (!has_deadline_) return;
    begin_ = platform_ticks();
    deadline_ = deadline;
  }
  /// From any thread.
  void cancel() { cancelled_.store(true, std::memory_order_relaxed); }

  bool is_due() const {
    return cancelled_.load(std::memory_order_relaxed) ||
           (has_deadline_ && platform_ticks() - begin_ >= deadline_);
  }
  /// REQUIRES: is_due().
  Fault status() const;

 private:
  std::atomic<bool> cancelled_{false};
  bool has_deadline_ = false;
  uint64_t begin_ = 0;
  uint64_t deadline_ = 0;
};

}  // namespace lazyrt
