#include "platforms/posix/lazy_run/bench.h"

#include <algorithm>
#include <chrono>

#include "platforms/posix/lazy_run/failure.h"
#include "platforms/posix/lazy_run/process.h"

namespace lazyrt::run {
namespace {

constexpr int kWarmUp = 3;
constexpr size_t kLeastRuns = 5;
constexpr size_t kMostRuns = 3000;

}  // namespace

double now_ms() {
  using namespace std::chrono;
  return duration<double, std::milli>(steady_clock::now().time_since_epoch()).count();
}

double Bench::median_ms() const {
  std::vector<double> sorted = latencies_ms;
  std::sort(sorted.begin(), sorted.end());
  const size_t n = sorted.size();
  return n == 0 ? 0 : (sorted[(n - 1) / 2] + sorted[n / 2]) / 2;
}

Bench measure(Session* session, double seconds) {
  Bench bench;
  for (int i = 0; i < kWarmUp; ++i) {
    require(session->reset_state());
    require(session->run());
  }
  bench.latencies_ms.reserve(kMostRuns);
  const double cpu = cpu_now_ms();
  const double begin = now_ms();
  while (bench.latencies_ms.size() < kMostRuns &&
         (bench.latencies_ms.size() < kLeastRuns || now_ms() - begin < seconds * 1e3)) {
    require(session->reset_state());
    const double start = now_ms();
    require(session->run());
    bench.latencies_ms.push_back(now_ms() - start);
  }
  bench.cpu_ms = (cpu_now_ms() - cpu) / static_cast<double>(bench.latencies_ms.size());
  return bench;
}

}  // namespace lazyrt::run
