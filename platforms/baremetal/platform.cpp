#include "runtime/platform/platform.h"

#include "platforms/baremetal/baremetal.h"

namespace lazyrt {
namespace {

TicksHook ticks_hook = nullptr;

}  // namespace

void set_ticks_hook(TicksHook hook) { ticks_hook = hook; }

// There is no heap: LoadOptions::allocator and SessionOptions::allocator give what there is.
void* platform_allocate(size_t, size_t) { return nullptr; }
void platform_release(void*) {}

uint64_t platform_ticks() { return ticks_hook == nullptr ? 0 : ticks_hook(); }
bool platform_has_ticks() { return ticks_hook != nullptr; }

Status platform_map_file(const char* path, MappedFile* file) {
  *file = {};
  return Status(Error::kUnsupported, "cannot open '%.100s': this platform has no files", path);
}
void platform_unmap_file(const MappedFile&) {}
void platform_pages_unneeded(const void*, size_t) {}

}  // namespace lazyrt
