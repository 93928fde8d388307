#pragma once

#include <cstdint>
#include <string>

// What the programs ask about their process; posix/lazy_run/process.cpp,
// windows/lazy_run/process.cpp.

namespace lazyrt::run {

/// Processor time of all threads so far, in milliseconds.
double cpu_now_ms();
/// Peak resident memory in KiB.
int64_t peak_memory_kb();
/// Name and release of the operating system.
std::string system_name();

}  // namespace lazyrt::run
