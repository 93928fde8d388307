#include "runtime/platform/thread.h"

#include <process.h>
#include <windows.h>

namespace lazyrt {
namespace {

unsigned __stdcall run_body(void* argument) {
  const auto* thread = static_cast<const PlatformThread*>(argument);
  thread->body(thread->argument);
  return 0;
}

}  // namespace

bool platform_thread_start(void (*body)(void*), void* argument, PlatformThread* thread) {
  *thread = {0, body, argument};
  const uintptr_t handle = _beginthreadex(nullptr, 0, run_body, thread, 0, nullptr);
  if (handle == 0) return false;
  thread->handle = handle;
  return true;
}

void platform_thread_join(const PlatformThread& thread) {
  HANDLE handle = reinterpret_cast<HANDLE>(thread.handle);
  WaitForSingleObject(handle, INFINITE);
  CloseHandle(handle);
}

}  // namespace lazyrt
