#pragma once

// The bytes of a .lzb file around its FlatBuffer, for its writer and its reader. FORMAT.md has the
// rules.

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace lazyrt {

static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__,
              "a .lzb file is used in place: little-endian");

constexpr char kBundleMagic[8] = {'L', 'Z', 'R', 'T', 'B', 'N', 'D', 'L'};
/// A reader refuses a newer major; it reads every older minor of its major.
constexpr uint32_t kBundleMajor = 1;
constexpr uint32_t kBundleMinor = 3;

/// Alignment of sections (but samples), of each constant in its section and of arena offsets.
constexpr uint64_t kBundleAlignment = 64;
/// Alignment of the samples section, so that it can stay on disk.
constexpr uint64_t kBundlePageBytes = 4096;
/// Readable bytes after each arena value and each constant; the constants section ends in as many
/// zeros.
constexpr uint64_t kBundleTailBytes = 16;
/// Deepest nesting and most tables that a reader follows in the FlatBuffer.
constexpr uint32_t kBundleMaxDepth = 16;
constexpr uint32_t kBundleMaxTables = 1000000;
/// Most variants of a method beside itself.
constexpr uint32_t kBundleMaxVariants = 255;
/// Most symbols of a method.
constexpr uint32_t kBundleMaxSymbols = 64;
/// Most methods and variants with symbols in a bundle. At the smallest and at the largest sizes of
/// all of them together no more than twice as many may be taken.
constexpr uint32_t kBundleMaxSizedMethods = 64;
/// Inputs and outputs of one node.
constexpr uint32_t kBundleMaxOperands = 65536;
/// Longest name: of a part of the interface, a value, an operator, a module or a source file.
constexpr uint32_t kBundleMaxNameBytes = 4096;
/// Longest text that is not a name, except the values of Bundle.info, which are read once each.
constexpr uint32_t kBundleMaxTextBytes = 65536;

/// The first bytes of the file. All offsets count from the start of the file.
struct BundleProlog {
  char magic[8];
  uint32_t major;
  uint32_t minor;
  uint64_t file_bytes;       ///< of the whole file
  uint64_t metadata_offset;  ///< the FlatBuffer: a Bundle with identifier LZB1; kBundleAlignment
  uint64_t metadata_bytes;
  uint64_t metadata_checksum;  ///< Checksum64 of the FlatBuffer
  uint64_t constants_offset;   ///< kBundleAlignment
  uint64_t constants_bytes;    ///< with the tail of kBundleTailBytes zeros
  uint64_t samples_offset;     ///< kBundlePageBytes; without samples both are 0
  uint64_t samples_bytes;
  uint64_t data_checksum;    ///< Checksum64 of the bytes from constants_offset to file_bytes
  uint64_t reserved[4];      ///< 0
  uint64_t prolog_checksum;  ///< Checksum64 of the 120 bytes before
};
static_assert(sizeof(BundleProlog) == 128, "the prolog's size is part of the format");
constexpr uint64_t kPrologChecked = offsetof(BundleProlog, prolog_checksum);

/// Smallest multiple of `alignment` (a power of two) that is >= n. REQUIRES: no overflow.
constexpr uint64_t align_up(uint64_t n, uint64_t alignment) {
  return (n + alignment - 1) & ~(alignment - 1);
}

/// Returns the bytes that a value of this size takes in the arena. REQUIRES: no overflow.
constexpr uint64_t room_of(uint64_t bytes) {
  return align_up(bytes + kBundleTailBytes, kBundleAlignment);
}

/// Checksum of a stream of bytes: four lanes of 64-bit words, each step a bijection, so that any
/// change within one word is seen. Against accidents, not against attackers. The result does not
/// depend on how the stream is cut into updates.
class Checksum64 {
 public:
  void update(const void* data, size_t bytes) {
    const auto* p = static_cast<const uint8_t*>(data);
    if (pending_ == 0) {
      const size_t whole = bytes / kStripe * kStripe;
      for (size_t i = 0; i < whole; i += kStripe) stripe(p + i);
      total_ += whole;
      p += whole;
      bytes -= whole;
    }
    for (size_t i = 0; i < bytes;) {
      const size_t room = kStripe - pending_;
      const size_t n = bytes - i < room ? bytes - i : room;
      std::memcpy(buffer_ + pending_, p + i, n);
      pending_ += n;
      i += n;
      total_ += n;
      if (pending_ == kStripe) {
        stripe(buffer_);
        pending_ = 0;
      }
    }
  }

  /// Of everything given to update() so far.
  uint64_t value() const {
    Checksum64 last = *this;
    std::memset(last.buffer_ + pending_, 0, kStripe - pending_);
    last.stripe(last.buffer_);
    return last.mixed(total_);
  }

  static uint64_t of(const void* data, size_t bytes) {
    Checksum64 c;
    const auto* p = static_cast<const uint8_t*>(data);
    size_t left = bytes;
    for (; left >= kStripe; left -= kStripe, p += kStripe) c.stripe(p);
    std::memcpy(c.buffer_, p, left);
    c.stripe(c.buffer_);
    return c.mixed(bytes);
  }

 private:
  static constexpr size_t kStripe = 32;
  static constexpr uint64_t kPrime1 = 0x9E3779B185EBCA87u;
  static constexpr uint64_t kPrime2 = 0xC2B2AE3D27D4EB4Fu;
  static constexpr uint64_t kPrime3 = 0x165667B19E3779F9u;

  static constexpr uint64_t rotate(uint64_t x, int n) { return (x << n) | (x >> (64 - n)); }

  void stripe(const uint8_t* p) {
    for (int i = 0; i < 4; ++i) {
      uint64_t word;
      std::memcpy(&word, p + 8 * i, 8);
      lanes_[i] = rotate(lanes_[i] + word * kPrime2, 31) * kPrime1;
    }
  }

  uint64_t mixed(uint64_t total) const {
    uint64_t h = total * kPrime2;
    for (uint64_t lane : lanes_) h = rotate(h ^ lane, 27) * kPrime1 + kPrime3;
    h ^= h >> 33;
    h *= kPrime2;
    return h ^ (h >> 29);
  }

  uint64_t lanes_[4] = {kPrime1, kPrime2, kPrime3, 0};
  uint8_t buffer_[kStripe] = {};
  size_t pending_ = 0;
  uint64_t total_ = 0;
};

/// Returns the checksum to store in prolog.prolog_checksum.
inline uint64_t prolog_checksum(const BundleProlog& prolog) {
  return Checksum64::of(&prolog, kPrologChecked);
}

}  // namespace lazyrt
