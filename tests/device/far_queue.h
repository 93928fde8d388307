#pragma once

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

#include "runtime/core/fault.h"

namespace lazyrt::test {

/// What goes wrong first, by the order of the nodes.
struct FarError {
  Status status;
  size_t node = 0;

  void add(const Status& other, size_t other_node) {
    if (!status.ok() && node <= other_node) return;
    status = other;
    node = other_node;
  }
};

struct FarJob {
  std::function<void(FarError*)> run;
  bool goes_on = false;  ///< also behind an error
};

/// A session's part of the queue.
struct FarStream {
  std::vector<FarJob> queued;  ///< not begun yet
  bool was_used = false;       ///< since the last wait
  FarError error;              ///< not told yet
};

/// The one queue of a machine: it works for all sessions, submission by submission.
class FarQueue {
 public:
  FarQueue() : thread_([this] { work(); }) {}
  ~FarQueue() {
    {
      const std::lock_guard lock(mutex_);
      stopped_ = true;
    }
    changed_.notify_all();
    thread_.join();
  }
  FarQueue(const FarQueue&) = delete;
  FarQueue& operator=(const FarQueue&) = delete;

  /// REQUIRES: something is queued.
  void submit(FarStream* stream) {
    {
      const std::lock_guard lock(mutex_);
      submissions_.push_back({stream, std::move(stream->queued)});
    }
    stream->queued.clear();
    changed_.notify_all();
  }
  /// Returns what went wrong since the last time.
  FarError drain(FarStream* stream) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] {
      return std::none_of(submissions_.begin(), submissions_.end(),
                          [&](const Submission& s) { return s.stream == stream; });
    });
    FarError error;
    std::swap(error, stream->error);
    return error;
  }

 private:
  struct Submission {
    FarStream* stream = nullptr;
    std::vector<FarJob> jobs;
  };

  void work() {
    std::unique_lock lock(mutex_);
    for (;;) {
      changed_.wait(lock, [this] { return stopped_ || !submissions_.empty(); });
      if (submissions_.empty()) return;
      const Submission& now = submissions_.front();  // stays until it has ended
      lock.unlock();
      for (const FarJob& job : now.jobs) {
        FarError* error = &now.stream->error;
        if (error->status.ok() || job.goes_on) job.run(error);
      }
      lock.lock();
      submissions_.pop_front();
      changed_.notify_all();
    }
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Submission> submissions_;
  bool stopped_ = false;
  std::thread thread_;
};

}  // namespace lazyrt::test
