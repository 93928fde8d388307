#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

#include "runtime/core/fault.h"

namespace lazyrt::test {

/// A session's part of the queue: its work, one after the other, none after an error until it was
/// told.
struct FarStream {
  size_t pending = 0;  ///< jobs that have not ended
  Status error;
};

/// The one queue of a machine: it works for all sessions in the order in which they come.
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

  void push(FarStream* stream, std::function<Status()> job) {
    {
      const std::lock_guard lock(mutex_);
      ++stream->pending;
      jobs_.push_back({stream, std::move(job)});
    }
    changed_.notify_all();
  }
  Status drain(FarStream* stream) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [stream] { return stream->pending == 0; });
    return stream->error;
  }

 private:
  struct Job {
    FarStream* stream = nullptr;
    std::function<Status()> run;
  };

  void work() {
    std::unique_lock lock(mutex_);
    for (;;) {
      changed_.wait(lock, [this] { return stopped_ || !jobs_.empty(); });
      if (jobs_.empty()) return;
      const Job& job = jobs_.front();  // stays until it has ended
      const bool skip = !job.stream->error.ok();
      lock.unlock();
      const Status status = skip ? Status() : job.run();
      lock.lock();
      if (!status.ok()) job.stream->error = status;
      --job.stream->pending;
      jobs_.pop_front();
      changed_.notify_all();
    }
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Job> jobs_;
  bool stopped_ = false;
  std::thread thread_;
};

}  // namespace lazyrt::test
