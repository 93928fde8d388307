#pragma once

#include "runtime/core/allocator.h"
#include "runtime/platform/threads.h"

namespace lazyrt {

/// A Program's memory for what its sessions share, from any thread: lets one thread at a time into
/// the Program's allocator, and keeps texts.
class ProgramMemory {
 public:
  /// At most this many texts are kept.
  static constexpr int kMostTexts = 256;

  /// REQUIRES: `source` outlives this, and is set before memory is requested.
  explicit ProgramMemory(const Allocator* source) : source_(source) {}
  ProgramMemory(const ProgramMemory&) = delete;
  ProgramMemory& operator=(const ProgramMemory&) = delete;
  ~ProgramMemory();

  /// Valid as long as this.
  Allocator allocator();
  /// Returns a copy of `text` that lives as long as this; equal texts have one copy. If kMostTexts
  /// others are kept already, returns a literal that says so; nullptr when memory is short.
  const char* keep(const char* text);

 private:
  struct Text;

  void* allocate(size_t bytes, size_t alignment) {
    return source_->allocate(source_->context, bytes, alignment);
  }

  const Allocator* const source_;
  Mutex mutex_;  ///< guards all members below, and calls of the source
  Text* last_ = nullptr;
  int count_ = 0;
};

}  // namespace lazyrt
