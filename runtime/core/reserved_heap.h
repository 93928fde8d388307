#pragma once

#include <cstddef>
#include <cstdint>

namespace lazyrt {

/// Gives out pieces of one block of memory. Free pieces are kept in lists by size and joined with
/// their neighbours, so that each call takes the same time, however many pieces there are. One
/// thread at a time. Source of the layout: Masmano et al., "TLSF: a new dynamic memory allocator
/// for real-time systems", 2004.
class ReservedHeap {
 public:
  static constexpr size_t kUnit = 64;  ///< alignment of all pieces

  ReservedHeap() = default;
  ReservedHeap(const ReservedHeap&) = delete;
  ReservedHeap& operator=(const ReservedHeap&) = delete;

  /// Bytes of the block that a piece of this many bytes takes.
  static constexpr size_t taken_by(size_t bytes) {
    return (bytes + sizeof(Header) + kUnit - 1) / kUnit * kUnit;
  }
  /// Uses the block, aligned to kUnit, from now on. REQUIRES: called once; the block outlives all
  /// pieces.
  void use(void* block, size_t bytes);
  bool holds(const void* pointer) const {
    const auto* p = static_cast<const char*>(pointer);
    return p >= begin_ && p < begin_ + bytes_;
  }
  /// A piece aligned to kUnit, or nullptr.
  void* allocate(size_t bytes);
  /// REQUIRES: it comes from allocate and was not released.
  void release(void* pointer);

 private:
  /// Directly before each piece.
  struct Header {
    size_t bytes;         ///< size of the piece and its header; lowest bit: the piece is free
    size_t before_bytes;  ///< size of the piece below; 0: this is the first piece
  };
  /// In the memory of free pieces.
  struct Free {
    Free* next;
    Free* previous;
  };
  static constexpr int kClasses = 48;  ///< by the highest bit
  static constexpr int kShares = 8;    ///< and each into so many parts

  static Header* header_of(void* piece) { return static_cast<Header*>(piece) - 1; }
  static Free* free_of(Header* header) { return reinterpret_cast<Free*>(header + 1); }
  static Header* header_of_free(Free* free) { return reinterpret_cast<Header*>(free) - 1; }
  static Header* above(Header* header) {
    return reinterpret_cast<Header*>(reinterpret_cast<char*>(header) +
                                     (header->bytes & ~size_t{1}));
  }
  static int list_of(size_t bytes);
  void insert(Header* header, size_t bytes);
  void remove(Header* header);
  Header* find(size_t bytes) const;

  char* begin_ = nullptr;
  size_t bytes_ = 0;
  Free* lists_[kClasses * kShares] = {};
  uint64_t filled_[kClasses * kShares / 64] = {};  ///< a bit for each list that is not empty
};

/// Where nothing is ever reserved.
struct NoReservedHeap {
  void use(void*, size_t) {}
  bool holds(const void*) const { return false; }
  void* allocate(size_t) { return nullptr; }
  void release(void*) {}
};

}  // namespace lazyrt
