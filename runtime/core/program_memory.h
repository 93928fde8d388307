#pragma once

#include "runtime/core/allocator.h"
#include "runtime/platform/threads.h"

namespace lazyrt {

/// The memory of a Program for what its sessions share, which they take on any threads: lets one at
/// a time into the Program's allocator, and keeps texts.
class ProgramMemory {
 public:
  /// However many texts there are, no more than these are kept.
  static constexpr int kMostTexts = 256;

  /// REQUIRES: `source` outlives this, and is set when memory is asked for.
  explicit ProgramMemory(const Allocator* source) : source_(source) {}
  ProgramMemory(const ProgramMemory&) = delete;
  ProgramMemory& operator=(const ProgramMemory&) = delete;
  ~ProgramMemory();

  /// Valid as long as this.
  Allocator allocator();
  /// Returns a copy of `text` that lives as long as this, one for all that are the same; where
  /// kMostTexts others are kept, a literal that says so; nullptr when memory is short.
  const char* keep(const char* text);

 private:
  struct Text;

  void* allocate(size_t bytes, size_t alignment) {
    return source_->allocate(source_->context, bytes, alignment);
  }

  const Allocator* const source_;
  Mutex mutex_;  ///< of all below, and of calls of the source
  Text* last_ = nullptr;
  int count_ = 0;
};

}  // namespace lazyrt
