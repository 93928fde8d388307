#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>

namespace lazyrt::run {

/// Says on stderr what the program is doing once that takes longer than two seconds, and again
/// every five seconds.
class Progress {
 public:
  Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;
  ~Progress();

  /// What begins now, e.g. "loading model.lzb".
  void phase(const std::string& what);

 private:
  void watch();

  std::mutex mutex_;
  std::condition_variable changed_;
  std::string what_;
  std::chrono::steady_clock::time_point since_;
  bool done_ = false;
  std::thread thread_;
};

}  // namespace lazyrt::run
