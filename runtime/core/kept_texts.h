#pragma once

#include <cstdint>

#include "runtime/core/allocator.h"
#include "runtime/platform/threads.h"

namespace lazyrt {

/// Texts that live as long as this, each kept once. Safe on several threads.
class KeptTexts {
 public:
  /// However many texts there are, memory for no more than this is taken.
  static constexpr int kMost = 256;

  KeptTexts() = default;
  KeptTexts(const KeptTexts&) = delete;
  KeptTexts& operator=(const KeptTexts&) = delete;
  ~KeptTexts();

  /// Returns the copy of `text`, made now if there is none; where kMost other texts are kept, a
  /// literal that says so; nullptr when memory is short. REQUIRES: always the same allocator, which
  /// outlives this.
  const char* keep(const char* text, const Allocator& allocator);

 private:
  struct Text;

  Mutex mutex_;
  Allocator allocator_;
  Text* last_ = nullptr;
  int count_ = 0;
};

}  // namespace lazyrt
