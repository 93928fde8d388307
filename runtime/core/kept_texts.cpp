#include "runtime/core/kept_texts.h"

#include <cstring>

namespace lazyrt {

/// Stands directly before its bytes.
struct KeptTexts::Text {
  Text* before;

  char* bytes() { return reinterpret_cast<char*>(this + 1); }
};

KeptTexts::~KeptTexts() {
  while (last_ != nullptr) {
    Text* text = last_;
    last_ = text->before;
    allocator_.release(allocator_.context, text);
  }
}

const char* KeptTexts::keep(const char* text, const Allocator& allocator) {
  const Lock lock(mutex_);
  for (Text* kept = last_; kept != nullptr; kept = kept->before) {
    if (std::strcmp(kept->bytes(), text) == 0) return kept->bytes();
  }
  if (count_ == kMost) return "(too many reasons)";
  const size_t bytes = std::strlen(text) + 1;
  void* memory = allocator.allocate(allocator.context, sizeof(Text) + bytes, alignof(Text));
  if (memory == nullptr) return nullptr;
  allocator_ = allocator;
  auto* kept = static_cast<Text*>(memory);
  kept->before = last_;
  std::memcpy(kept->bytes(), text, bytes);
  last_ = kept;
  ++count_;
  return kept->bytes();
}

}  // namespace lazyrt
