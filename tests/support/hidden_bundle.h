#pragma once

// A loaded bundle whose metadata can be taken away: whoever reads it then is killed.

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include "lazyrt/runtime.h"
#include "tests/support/bundle_writer.h"

namespace lazyrt::test {

class HiddenBundle {
 public:
  HiddenBundle(const BundleParts& parts, const OpTable& ops) : HiddenBundle(padded(parts), ops) {}
  HiddenBundle(const HiddenBundle&) = delete;
  HiddenBundle& operator=(const HiddenBundle&) = delete;
  ~HiddenBundle() { munmap(memory_, bytes_); }

  Method method() const { return program_->method(0); }

  /// From now on only constants and samples can be read.
  void hide() { protect(PROT_NONE); }
  void show() { protect(PROT_READ); }

 private:
  HiddenBundle(AlignedBytes file, const OpTable& ops)
      : bytes_(file.size()), metadata_end_(file.prolog().constants_offset) {
    memory_ = mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    std::memcpy(memory_, file.data(), bytes_);
    program_ = Program::load({static_cast<const uint8_t*>(memory_), bytes_}, ops);
    EXPECT_TRUE(program_.ok()) << program_.status().message();
  }

  /// The file with its constants at the begin of a page.
  static AlignedBytes padded(const BundleParts& parts) {
    AlignedBytes file = write_bundle(parts);
    const BundleProlog& prolog = file.prolog();
    const auto page = static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
    const uint8_t* metadata = file.data() + prolog.metadata_offset;
    std::vector<uint8_t> longer(metadata, metadata + prolog.metadata_bytes);
    longer.resize(align_up(prolog.constants_offset, page) - prolog.metadata_offset);
    return write_bundle(longer, parts);
  }
  void protect(int how) { ASSERT_EQ(mprotect(memory_, metadata_end_, how), 0); }

  const size_t bytes_;
  const size_t metadata_end_;
  void* memory_ = nullptr;
  Result<Program> program_ = Status(Error::kInternal, "not loaded");
};

}  // namespace lazyrt::test
