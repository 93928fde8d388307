#include "runtime/core/sort.h"

#include <cstdint>
#include <cstring>

namespace lazyrt {
namespace {

void swap_items(char* a, char* b, size_t bytes) {
  for (size_t i = 0; i < bytes; i += sizeof(uint32_t)) {
    uint32_t x = 0, y = 0;
    std::memcpy(&x, a + i, sizeof(x));
    std::memcpy(&y, b + i, sizeof(y));
    std::memcpy(a + i, &y, sizeof(y));
    std::memcpy(b + i, &x, sizeof(x));
  }
}

}  // namespace

/// First makes the items a heap, from its last parent on; then moves the top behind the heap, again
/// and again.
void sort_items(void* items, size_t count, size_t bytes,
                bool (*before)(const void* context, const void* a, const void* b),
                const void* context) {
  auto* const base = static_cast<char*>(items);
  size_t unsifted = count / 2;
  size_t end = count;
  while (end > 1) {
    if (unsifted != 0)
      --unsifted;
    else
      swap_items(base, base + --end * bytes, bytes);
    size_t parent = unsifted;
    for (size_t child = 0; (child = 2 * parent + 1) < end; parent = child) {
      char* larger = base + child * bytes;
      if (child + 1 < end && before(context, larger, larger + bytes)) {
        larger += bytes;
        ++child;
      }
      if (!before(context, base + parent * bytes, larger)) break;
      swap_items(base + parent * bytes, larger, bytes);
    }
  }
}

}  // namespace lazyrt
