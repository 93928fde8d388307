#include "host_tracer/cli/progress.h"

#include <cstdio>

namespace lazyrt {
namespace {
constexpr auto kInterval = std::chrono::seconds(2);
}

Progress::Progress(bool enabled) : begin_(Clock::now()) {
  if (enabled) printer_ = std::thread([this] { print_until_stopped(); });
}

Progress::~Progress() {
  {
    std::lock_guard<std::mutex> lock(mutex_);
    stopped_ = true;
  }
  stopped_signal_.notify_all();
  if (printer_.joinable()) printer_.join();
}

void Progress::report(const std::string& stage, int64_t done, int64_t total) {
  std::lock_guard<std::mutex> lock(mutex_);
  if (stage != stage_) begin_ = Clock::now();
  stage_ = stage;
  done_ = done;
  total_ = total;
}

void Progress::print_until_stopped() {
  std::unique_lock<std::mutex> lock(mutex_);
  while (!stopped_signal_.wait_for(lock, kInterval, [this] { return stopped_; })) {
    if (stage_.empty()) continue;
    const double seconds = std::chrono::duration<double>(Clock::now() - begin_).count();
    std::string line = "lazy-export: " + stage_;
    if (total_ > 0) line += " " + std::to_string(done_) + "/" + std::to_string(total_);
    std::fprintf(stderr, "%s, %.0f s\n", line.c_str(), seconds);
  }
}

}  // namespace lazyrt
