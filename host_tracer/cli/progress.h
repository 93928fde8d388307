#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <string>
#include <thread>

namespace lazyrt {

/// Reports on stderr what is being done once it takes longer than two seconds: every two seconds a
/// line with the stage, its progress and its time. Quick work prints nothing. Thread-safe.
class Progress {
 public:
  /// `enabled` false: never prints.
  explicit Progress(bool enabled);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  /// Begins a new stage, or reports the current one at done of total; total 0: not known.
  void report(const std::string& stage, int64_t done = 0, int64_t total = 0);

 private:
  using Clock = std::chrono::steady_clock;
  void print_until_stopped();

  std::mutex mutex_;
  std::condition_variable stopped_signal_;
  bool stopped_ = false;
  std::string stage_;
  int64_t done_ = 0;
  int64_t total_ = 0;
  Clock::time_point begin_;
  std::thread printer_;
};

}  // namespace lazyrt
