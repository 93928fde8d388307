#include "platforms/posix/lazy_run/progress.h"

#include <cstdio>

#include "platforms/posix/lazy_run/text.h"

namespace lazyrt::run {

using Clock = std::chrono::steady_clock;

Progress::Progress() : since_(Clock::now()), thread_([this] { watch(); }) {}

Progress::~Progress() {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    done_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void Progress::phase(const std::string& what) {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    what_ = what;
    since_ = Clock::now();
  }
  changed_.notify_all();
}

void Progress::watch() {
  std::unique_lock<std::mutex> lock(mutex_);
  auto next = since_ + std::chrono::seconds(2);
  auto seen = since_;
  while (!done_) {
    changed_.wait_until(lock, next);
    if (since_ != seen) {
      seen = since_;
      next = since_ + std::chrono::seconds(2);
    } else if (!done_ && Clock::now() >= next) {
      const double seconds = std::chrono::duration<double>(Clock::now() - since_).count();
      std::fprintf(stderr, "lazy-run: %s, %.0f s\n", printable(what_).c_str(), seconds);
      next += std::chrono::seconds(5);
    }
  }
}

}  // namespace lazyrt::run
