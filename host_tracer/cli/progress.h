#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <string>
#include <thread>

namespace lazyrt {

/// Says on stderr what is being done, once it takes longer than two seconds: a line every two
/// seconds with the stage, how far it is, and how long it has run. Silent for what is quick.
/// Thread-safe.
class Progress {
 public:
  /// `enabled` false: never prints.
  explicit Progress(bool enabled);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  /// A new stage begins, or the current one is at done of total; total 0: not known.
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
