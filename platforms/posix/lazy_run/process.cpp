#include "platforms/posix/lazy_run/process.h"

#include <sys/resource.h>
#include <sys/utsname.h>

#include <ctime>
#include <fstream>

namespace lazyrt::run {

double cpu_now_ms() {
  timespec t;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) * 1e3 + static_cast<double>(t.tv_nsec) * 1e-6;
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

std::string system_name() {
  utsname system = {};
  uname(&system);
  return std::string(system.sysname) + " " + system.release;
}

}  // namespace lazyrt::run
