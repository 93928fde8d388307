#include "runtime/platform/thread.h"

#include <pthread.h>

#include <cstring>

namespace lazyrt {
namespace {

static_assert(sizeof(pthread_t) <= sizeof(uintptr_t), "a handle holds it");

void* run_body(void* argument) {
  const auto* thread = static_cast<const PlatformThread*>(argument);
  thread->body(thread->argument);
  return nullptr;
}

}  // namespace

bool platform_thread_start(void (*body)(void*), void* argument, PlatformThread* thread) {
  pthread_t handle;
  *thread = {0, body, argument};
  if (pthread_create(&handle, nullptr, run_body, thread) != 0) return false;
  std::memcpy(&thread->handle, &handle, sizeof(handle));
  return true;
}

void platform_thread_join(const PlatformThread& thread) {
  pthread_t handle;
  std::memcpy(&handle, &thread.handle, sizeof(handle));
  pthread_join(handle, nullptr);
}

}  // namespace lazyrt
