#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "host_tracer/trace/trace.h"

namespace lazyrt {

/// Lays pieces of data one after the other, each aligned; equal content is stored once.
class Section {
 public:
  explicit Section(uint64_t alignment) : alignment_(alignment) {}

  /// Where these bytes are in the section. `data` must outlive this.
  uint64_t add(const void* data, uint64_t bytes);

  struct Piece {
    uint64_t offset = 0;
    const void* data = nullptr;
    uint64_t bytes = 0;
  };
  /// In order of offset.
  const std::vector<Piece>& pieces() const { return pieces_; }
  /// End of the last piece.
  uint64_t bytes() const { return end_; }
  /// What was not stored again.
  uint64_t shared_bytes() const { return shared_; }

 private:
  uint64_t alignment_;
  uint64_t end_ = 0;
  uint64_t shared_ = 0;
  std::vector<Piece> pieces_;
  std::unordered_multimap<uint64_t, size_t> by_checksum_;
};

}  // namespace lazyrt
