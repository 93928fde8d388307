#pragma once

// All that the runtime asks of an operating system. Implemented once for each in platforms/<os>.
// Every function may be called from any thread.

#include <cstddef>
#include <cstdint>

#include "lazyrt/error.h"

namespace lazyrt {

/// `bytes` of memory aligned to `alignment` (a power of two), not cleared; nullptr when memory is
/// short. Zero bytes give a pointer that may be released.
void* platform_allocate(size_t bytes, size_t alignment);
/// Gives back what platform_allocate gave; nullptr is allowed.
void platform_release(void* pointer);

/// Nanoseconds of a clock that never goes back. Its zero means nothing.
uint64_t platform_ticks();
/// Returns false if there is no such clock: then time stands still.
bool platform_has_ticks();

/// A file's bytes, read-only, aligned to a page.
struct MappedFile {
  const uint8_t* data = nullptr;  ///< nullptr: nothing is mapped
  size_t bytes = 0;
};
/// Maps a regular file. kNotFound when there is none, else kIo; an empty file maps to zero bytes.
/// The file must not shrink or change while it is mapped.
Status platform_map_file(const char* path, MappedFile* file);
void platform_unmap_file(const MappedFile& file);

/// Says that this memory of a mapped file is not needed for now; its content stays. A hint.
void platform_pages_unneeded(const void* data, size_t bytes);

}  // namespace lazyrt
