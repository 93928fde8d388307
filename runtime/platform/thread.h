#pragma once

// Threads, for the pool of the cpu backend in builds without XNNPACK. Implemented once for each
// operating system in platforms/<os>; a system without threads starts none.

#include <cstdint>

namespace lazyrt {

struct PlatformThread {
  uintptr_t handle = 0;  ///< the system's own
  void (*body)(void*) = nullptr;
  void* argument = nullptr;
};

/// Calls body(argument) on a new thread. *thread stays where it is until the join. False: the
/// system gives no thread.
bool platform_thread_start(void (*body)(void*), void* argument, PlatformThread* thread);
/// Waits for the end of a thread that was started. Once for each.
void platform_thread_join(const PlatformThread& thread);

}  // namespace lazyrt
