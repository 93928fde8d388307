#include "platforms/posix/lazy_run/process.h"

// clang-format off
#include <windows.h>
#include <psapi.h>
// clang-format on

namespace lazyrt::run {
namespace {

/// FILETIME counts 100 ns.
double milliseconds(const FILETIME& time) {
  ULARGE_INTEGER value;
  value.LowPart = time.dwLowDateTime;
  value.HighPart = time.dwHighDateTime;
  return static_cast<double>(value.QuadPart) * 1e-4;
}

}  // namespace

double cpu_now_ms() {
  FILETIME created, ended, kernel, user;
  if (!GetProcessTimes(GetCurrentProcess(), &created, &ended, &kernel, &user)) return 0;
  return milliseconds(kernel) + milliseconds(user);
}

int64_t peak_memory_kb() {
  PROCESS_MEMORY_COUNTERS counters = {};
  if (!K32GetProcessMemoryInfo(GetCurrentProcess(), &counters, sizeof(counters))) return 0;
  return static_cast<int64_t>(counters.PeakWorkingSetSize / 1024);
}

std::string system_name() {
  OSVERSIONINFOA version = {};
  version.dwOSVersionInfoSize = sizeof(version);
  if (!GetVersionExA(&version)) return "Windows";
  return "Windows " + std::to_string(version.dwMajorVersion) + "." +
         std::to_string(version.dwMinorVersion) + "." + std::to_string(version.dwBuildNumber);
}

}  // namespace lazyrt::run
