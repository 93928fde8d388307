#include "runtime/core/reserved_heap.h"

namespace lazyrt {

/// A list holds pieces from its own size up to the size of the next list.
int ReservedHeap::list_of(size_t bytes) {
  const size_t units = bytes / kUnit;
  if (units < kShares) return static_cast<int>(units);
  const int high = 63 - __builtin_clzll(units);
  const auto share = static_cast<int>(units >> (high - 3)) - kShares;
  const int list = (high - 2) * kShares + share;
  return list < kClasses * kShares ? list : kClasses * kShares - 1;
}

void ReservedHeap::use(void* block, size_t bytes) {
  begin_ = static_cast<char*>(block);
  bytes_ = bytes;
  // Headers stand before multiples of kUnit; the last header ends the block and is never free.
  const size_t room = bytes / kUnit * kUnit;
  if (room < 3 * kUnit) return;
  auto* first = reinterpret_cast<Header*>(begin_ + kUnit) - 1;
  first->before_bytes = 0;
  insert(first, room - 2 * kUnit);
  Header* last = above(first);
  *last = {0, room - 2 * kUnit};
}

void ReservedHeap::insert(Header* header, size_t bytes) {
  header->bytes = bytes | 1;
  const int list = list_of(bytes);
  Free* free = free_of(header);
  *free = {lists_[list], nullptr};
  if (free->next != nullptr) free->next->previous = free;
  lists_[list] = free;
  filled_[list / 64] |= uint64_t{1} << (list % 64);
}

void ReservedHeap::remove(Header* header) {
  header->bytes &= ~size_t{1};
  Free* free = free_of(header);
  if (free->next != nullptr) free->next->previous = free->previous;
  if (free->previous != nullptr) {
    free->previous->next = free->next;
    return;
  }
  const int list = list_of(header->bytes);
  lists_[list] = free->next;
  if (free->next == nullptr) filled_[list / 64] &= ~(uint64_t{1} << (list % 64));
}

/// Finds a free piece of this many bytes. In the list of that size not every piece is large enough:
/// only the first one is looked at.
ReservedHeap::Header* ReservedHeap::find(size_t bytes) const {
  const int own = list_of(bytes);
  if (lists_[own] != nullptr && header_of_free(lists_[own])->bytes >= bytes)
    return header_of_free(lists_[own]);
  const int first = own + 1;
  for (int word = first / 64; word < kClasses * kShares / 64; ++word) {
    uint64_t lists = filled_[word];
    if (word == first / 64) lists &= ~uint64_t{0} << (first % 64);
    if (lists != 0) return header_of_free(lists_[word * 64 + __builtin_ctzll(lists)]);
  }
  return nullptr;
}

void* ReservedHeap::allocate(size_t bytes) {
  if (bytes > bytes_) return nullptr;
  const size_t wanted = taken_by(bytes);
  Header* header = find(wanted);
  if (header == nullptr) return nullptr;
  remove(header);
  const size_t rest = header->bytes - wanted;
  if (rest != 0) {
    header->bytes = wanted;
    Header* next = above(header);
    next->before_bytes = wanted;
    insert(next, rest);
    above(next)->before_bytes = rest;
  }
  return header + 1;
}

void ReservedHeap::release(void* pointer) {
  Header* header = header_of(pointer);
  size_t bytes = header->bytes;
  Header* next = above(header);
  if ((next->bytes & 1) != 0) {
    bytes += next->bytes & ~size_t{1};
    remove(next);
  }
  if (header->before_bytes != 0) {
    auto* below = reinterpret_cast<Header*>(reinterpret_cast<char*>(header) - header->before_bytes);
    if ((below->bytes & 1) != 0) {
      remove(below);
      bytes += below->bytes;
      header = below;
    }
  }
  insert(header, bytes);
  above(header)->before_bytes = bytes;
}

}  // namespace lazyrt
