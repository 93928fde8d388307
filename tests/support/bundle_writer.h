#pragma once

// Writes .lzb files for tests, right or wrong, from the schema's object API.

#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "lazyrt/span.h"
#include "schema/bundle_file.h"
#include "schema/bundle_generated.h"

namespace lazyrt::test {

/// Bytes at an address aligned to 64.
class AlignedBytes {
 public:
  AlignedBytes() = default;
  explicit AlignedBytes(size_t size)
      : data_(static_cast<uint8_t*>(std::aligned_alloc(64, align_up(size + 1, 64)))), size_(size) {}
  AlignedBytes(const uint8_t* bytes, size_t size) : AlignedBytes(size) {
    if (size != 0) std::memcpy(data_.get(), bytes, size);
  }
  AlignedBytes copy() const { return AlignedBytes(data_.get(), size_); }

  uint8_t* data() { return data_.get(); }
  const uint8_t* data() const { return data_.get(); }
  size_t size() const { return size_; }
  uint8_t& operator[](size_t i) { return data_.get()[i]; }
  Span<const uint8_t> span() const { return {data_.get(), size_}; }
  BundleProlog& prolog() { return *reinterpret_cast<BundleProlog*>(data_.get()); }

 private:
  struct Free {
    void operator()(uint8_t* p) const { std::free(p); }
  };
  std::unique_ptr<uint8_t, Free> data_;
  size_t size_ = 0;
};

/// A bundle before it is written. Section contents are taken as they are; the constants get their
/// tail.
struct BundleParts {
  fb::BundleT bundle;
  std::vector<uint8_t> constants;
  std::vector<uint8_t> samples;

  /// Appends at the next multiple of 64; gives the offset.
  static uint64_t append(std::vector<uint8_t>* section, const void* data, size_t bytes);
  /// For a sample: the data of a value, put into the samples.
  std::unique_ptr<fb::BlobT> sample_blob(const fb::ValueT& value, const void* data);
};

AlignedBytes write_bundle(const BundleParts& parts);
/// The same with these bytes as the metadata.
AlignedBytes write_bundle(Span<const uint8_t> metadata, const BundleParts& parts);
/// Makes all checksums of the file right again, so that what the bytes say is what gets checked.
/// Leaves a file whose prolog does not describe it alone.
void reseal(AlignedBytes* file);

/// Writes the bytes to a new file in the test's temporary folder and gives its path.
std::string write_temp_file(const AlignedBytes& bytes, const std::string& name);

}  // namespace lazyrt::test
