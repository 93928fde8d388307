#include "host_tracer/emit/section.h"

#include <cstring>

#include "schema/bundle_file.h"

namespace lazyrt {

uint64_t Section::add(const void* data, uint64_t bytes) {
  if (bytes == 0) return 0;
  const uint64_t key = Checksum64::of(data, bytes);
  const auto [begin, end] = by_checksum_.equal_range(key);
  for (auto it = begin; it != end; ++it) {
    const Piece& piece = pieces_[it->second];
    if (piece.bytes != bytes || std::memcmp(piece.data, data, bytes) != 0) continue;
    shared_ += bytes;
    return piece.offset;
  }
  const uint64_t offset = align_up(end_, alignment_);
  by_checksum_.emplace(key, pieces_.size());
  pieces_.push_back({offset, data, bytes});
  end_ = offset + bytes;
  return offset;
}

}  // namespace lazyrt
