#include "runtime/core/program_memory.h"

#include <cstring>

#include "lazyrt/error.h"

namespace lazyrt {

/// Stands directly before its bytes.
struct ProgramMemory::Text {
  Text* before;

  char* bytes() { return reinterpret_cast<char*>(this + 1); }
};

ProgramMemory::~ProgramMemory() {
  while (last_ != nullptr) {
    Text* text = last_;
    last_ = text->before;
    source_->release(source_->context, text);
  }
}

Allocator ProgramMemory::allocator() {
  return {this,
          [](void* context, size_t bytes, size_t alignment) {
            auto* self = static_cast<ProgramMemory*>(context);
            const Lock lock(self->mutex_);
            return self->allocate(bytes, alignment);
          },
          [](void* context, void* pointer) {
            auto* self = static_cast<ProgramMemory*>(context);
            const Lock lock(self->mutex_);
            self->source_->release(self->source_->context, pointer);
          }};
}

const char* ProgramMemory::keep(const char* text) {
  const Lock lock(mutex_);
  for (Text* kept = last_; kept != nullptr; kept = kept->before) {
    if (std::strcmp(kept->bytes(), text) == 0) return kept->bytes();
  }
  if (count_ == kMostTexts) return LAZYRT_MESSAGES != 0 ? "(too many reasons)" : "?";
  const size_t bytes = std::strlen(text) + 1;
  auto* kept = static_cast<Text*>(allocate(sizeof(Text) + bytes, alignof(Text)));
  if (kept == nullptr) return nullptr;
  kept->before = last_;
  std::memcpy(kept->bytes(), text, bytes);
  last_ = kept;
  ++count_;
  return kept->bytes();
}

}  // namespace lazyrt
