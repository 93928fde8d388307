#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "host_tracer/support/outcome.h"

namespace lazyrt {

/// SHA-256 by FIPS 180-4.
class Sha256 {
 public:
  void update(const void* data, size_t bytes);
  /// 64 lower-case hex digits of all that was given. Ends the sum: no update after it.
  std::string hex();

 private:
  void add_block(const uint8_t* block);

  std::array<uint32_t, 8> state_ = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                    0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
  std::array<uint8_t, 64> open_ = {};
  size_t open_bytes_ = 0;
  uint64_t total_ = 0;
};

/// Of a file's content. kIo names the file.
Outcome<std::string> file_sha256(const std::string& path);

}  // namespace lazyrt
