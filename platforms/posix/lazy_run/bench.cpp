#include "platforms/posix/lazy_run/bench.h"

#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <ctime>
#include <fstream>
#include <string>

#include "platforms/posix/lazy_run/failure.h"

namespace lazyrt::run {
namespace {

constexpr int kWarmUp = 3;
constexpr size_t kLeastRuns = 5;
constexpr size_t kMostRuns = 3000;

double cpu_now_ms() {
  timespec t;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) * 1e3 + static_cast<double>(t.tv_nsec) * 1e-6;
}

}  // namespace

double now_ms() {
  using namespace std::chrono;
  return duration<double, std::milli>(steady_clock::now().time_since_epoch()).count();
}

int64_t peak_memory_kb() {
  std::ifstream status("/proc/self/status");
  for (std::string word; status >> word;) {
    int64_t kb = 0;
    if (word == "VmHWM:" && status >> kb) return kb;
  }
  rusage usage;
  getrusage(RUSAGE_SELF, &usage);
#ifdef __APPLE__
  return usage.ru_maxrss / 1024;
#else
  return usage.ru_maxrss;
#endif
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
