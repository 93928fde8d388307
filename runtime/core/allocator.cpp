#include "runtime/core/allocator.h"

#include "runtime/platform/platform.h"

namespace lazyrt {

Allocator platform_allocator() {
  return {nullptr,
          [](void*, size_t bytes, size_t alignment) { return platform_allocate(bytes, alignment); },
          [](void*, void* pointer) { platform_release(pointer); }};
}

Allocator SerialAllocator::allocator() {
  return {this,
          [](void* context, size_t bytes, size_t alignment) {
            auto* self = static_cast<SerialAllocator*>(context);
            const Lock lock(self->mutex_);
            return self->source_->allocate(self->source_->context, bytes, alignment);
          },
          [](void* context, void* pointer) {
            auto* self = static_cast<SerialAllocator*>(context);
            const Lock lock(self->mutex_);
            self->source_->release(self->source_->context, pointer);
          }};
}

}  // namespace lazyrt
