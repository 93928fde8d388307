#pragma once

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <map>
#include <mutex>

namespace lazyrt::test {

/// Blocks of pages that are PROT_NONE but while an Opening lives. Their addresses are numbers of
/// the device: aligned to 256 and no more, and no pointers of the host.
class FarMemory {
 public:
  static constexpr uintptr_t kAlignment = 256;

  /// nullptr: none is left. *host: where the host has it, too, if it asks.
  void* allocate(uint64_t bytes, void** host = nullptr) {
    const std::lock_guard lock(mutex_);
    const auto page = static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
    const uint64_t size = (bytes + page) / page * page;
    const int flags = MAP_PRIVATE | MAP_ANONYMOUS;
    const bool is_mapped = host != nullptr;
    void* pages = mmap(nullptr, size, is_mapped ? kOpen : protection(), flags, -1, 0);
    if (pages == MAP_FAILED) return nullptr;
    if (is_mapped) *host = pages;
    const uintptr_t address = next_;
    next_ += (bytes + 2 * kAlignment) / (2 * kAlignment) * (2 * kAlignment);
    blocks_[address] = {static_cast<uint8_t*>(pages), bytes, size, is_mapped};
    return reinterpret_cast<void*>(address);
  }
  void release(void* block) {
    const std::lock_guard lock(mutex_);
    const auto found = blocks_.find(reinterpret_cast<uintptr_t>(block));
    munmap(found->second.pages, found->second.size);
    blocks_.erase(found);
  }
  /// Where the device has these bytes; fails the test unless they are all in one block.
  uint8_t* at(const void* address, size_t bytes) {
    const std::lock_guard lock(mutex_);
    const auto begin = reinterpret_cast<uintptr_t>(address);
    auto block = blocks_.upper_bound(begin);
    const bool is_in = block != blocks_.begin() && begin + bytes <= end_of(*--block);
    EXPECT_TRUE(is_in) << bytes << " bytes at " << address << " are not the device's";
    return is_in ? block->second.pages + (begin - block->first) : nullptr;
  }

  void open() {
    const std::lock_guard lock(mutex_);
    if (openings_++ == 0) protect();
  }
  void close() {
    const std::lock_guard lock(mutex_);
    if (--openings_ == 0) protect();
  }
  bool can_be_read() {
    const std::lock_guard lock(mutex_);
    int ends[2];
    if (pipe(ends) != 0) return true;
    bool readable = false;  // the system reads it for us: EFAULT, not a signal
    for (const auto& [address, block] : blocks_)
      readable = readable || (!block.is_mapped && write(ends[1], block.pages, 1) == 1);
    ::close(ends[0]);
    ::close(ends[1]);
    return readable;
  }

 private:
  struct Block {
    uint8_t* pages = nullptr;
    uint64_t bytes = 0;
    uint64_t size = 0;
    bool is_mapped = false;  ///< the host has it, too
  };
  static constexpr int kOpen = PROT_READ | PROT_WRITE;

  static uintptr_t end_of(const std::pair<const uintptr_t, Block>& block) {
    return block.first + block.second.bytes;
  }
  int protection() const { return openings_ > 0 ? kOpen : PROT_NONE; }
  void protect() {
    for (const auto& [address, block] : blocks_)
      mprotect(block.pages, block.size, block.is_mapped ? kOpen : protection());
  }

  std::mutex mutex_;
  std::map<uintptr_t, Block> blocks_;
  uintptr_t next_ = (uintptr_t{1} << (8 * sizeof(uintptr_t) - 1)) + kAlignment;
  int openings_ = 0;
};

struct Opening {
  explicit Opening(FarMemory* opened) : memory(*opened) { memory.open(); }
  ~Opening() { memory.close(); }
  Opening(const Opening&) = delete;
  Opening& operator=(const Opening&) = delete;

  FarMemory& memory;
};

}  // namespace lazyrt::test
