#pragma once

#include <cstddef>

namespace lazyrt::test {

/// True where this program's malloc is ours: glibc without sanitizers.
bool can_count_allocations();
/// What tests say that need it and do not have it.
inline constexpr const char* kCannotCount =
    "a sanitizer puts its own malloc in place of ours, so that allocations can be neither counted "
    "nor made to fail; the preset dev runs this test";

/// Counts calls of malloc, calloc, realloc, the aligned forms and mmap on every thread while it
/// lives. One at a time.
class AllocationCount {
 public:
  AllocationCount();
  AllocationCount(const AllocationCount&) = delete;
  AllocationCount& operator=(const AllocationCount&) = delete;
  ~AllocationCount();
  size_t calls() const;
};

/// Lets `allowed` allocations of this thread succeed and the rest, or the next one alone, fail
/// while it lives.
class FailingMemory {
 public:
  enum Times { kAlways, kOnce };
  explicit FailingMemory(size_t allowed, Times times = kAlways);
  FailingMemory(const FailingMemory&) = delete;
  FailingMemory& operator=(const FailingMemory&) = delete;
  ~FailingMemory();
  /// Whether one has failed so far.
  bool failed() const;
  /// Pieces that this thread took, less those that it gave back, since then. Mappings do not count.
  long balance() const;
};

}  // namespace lazyrt::test
