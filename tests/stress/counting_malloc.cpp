#include "tests/stress/counting_malloc.h"

#include <sys/mman.h>

#include <atomic>
#include <cerrno>
#include <cstdint>

#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define LAZYRT_SANITIZED 1
#endif
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || !defined(__GLIBC__)
#define LAZYRT_SANITIZED 1
#endif

namespace lazyrt::test {
namespace {

std::atomic<bool> counting{false};
std::atomic<size_t> calls_seen{0};
thread_local bool failing = false;
thread_local bool has_failed = false;
thread_local bool fails_once = false;
thread_local size_t left = 0;
thread_local long taken = 0;

/// Counts one call; false: it must fail.
[[maybe_unused]] bool admit() {
  if (counting.load(std::memory_order_relaxed)) calls_seen.fetch_add(1, std::memory_order_relaxed);
  if (!failing || (fails_once && has_failed)) return true;
  if (left > 0) {
    --left;
    return true;
  }
  has_failed = true;
  errno = ENOMEM;
  return false;
}

}  // namespace

AllocationCount::AllocationCount() {
  calls_seen = 0;
  counting = true;
}
AllocationCount::~AllocationCount() { counting = false; }
size_t AllocationCount::calls() const { return calls_seen; }

FailingMemory::FailingMemory(size_t allowed, Times times) {
  left = allowed;
  fails_once = times == kOnce;
  taken = 0;
  has_failed = false;
  failing = true;
}
FailingMemory::~FailingMemory() { failing = false; }
bool FailingMemory::failed() const { return has_failed; }
long FailingMemory::balance() const { return taken; }

#ifdef LAZYRT_SANITIZED
bool can_count_allocations() { return false; }
#else
bool can_count_allocations() { return true; }
#endif

}  // namespace lazyrt::test

#ifndef LAZYRT_SANITIZED
namespace {

void* counted(void* p) {
  if (p != nullptr) ++lazyrt::test::taken;
  return p;
}

}  // namespace

extern "C" {

void* __libc_malloc(size_t);
void* __libc_calloc(size_t, size_t);
void* __libc_realloc(void*, size_t);
void* __libc_memalign(size_t, size_t);
void __libc_free(void*);

__attribute__((visibility("default"))) void* malloc(size_t n) {
  return counted(lazyrt::test::admit() ? __libc_malloc(n) : nullptr);
}
__attribute__((visibility("default"))) void* calloc(size_t n, size_t each) {
  return counted(lazyrt::test::admit() ? __libc_calloc(n, each) : nullptr);
}
__attribute__((visibility("default"))) void* realloc(void* p, size_t n) {
  if (!lazyrt::test::admit()) return nullptr;
  void* moved = __libc_realloc(p, n);
  return p == nullptr ? counted(moved) : moved;
}
__attribute__((visibility("default"))) void free(void* p) {
  if (p != nullptr) --lazyrt::test::taken;
  __libc_free(p);
}
__attribute__((visibility("default"))) void* memalign(size_t alignment, size_t n) {
  return counted(lazyrt::test::admit() ? __libc_memalign(alignment, n) : nullptr);
}
__attribute__((visibility("default"))) void* aligned_alloc(size_t alignment, size_t n) {
  return counted(lazyrt::test::admit() ? __libc_memalign(alignment, n) : nullptr);
}
__attribute__((visibility("default"))) int posix_memalign(void** out, size_t alignment, size_t n) {
  if (!lazyrt::test::admit()) return ENOMEM;
  *out = counted(__libc_memalign(alignment, n));
  return *out == nullptr ? ENOMEM : 0;
}
__attribute__((visibility("default"))) void* mmap(void* at, size_t n, int protection, int flags,
                                                  int fd, off_t offset) {
  if (!lazyrt::test::admit()) return MAP_FAILED;
  return mmap64(at, n, protection, flags, fd, offset);
}

}  // extern "C"
#endif
