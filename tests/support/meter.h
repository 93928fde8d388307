#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <unordered_map>

#include "lazyrt/runtime.h"

namespace lazyrt::test {

/// An allocator that counts what is out, and the most that ever was. Lives as long as what it gave.
class Meter {
 public:
  AllocatorHooks hooks() {
    return {this,
            [](void* self, size_t bytes, size_t alignment) {
              return static_cast<Meter*>(self)->allocate(bytes, alignment);
            },
            [](void* self, void* p) { static_cast<Meter*>(self)->release(p); }};
  }
  uint64_t live() const { return live_; }
  uint64_t peak() const { return peak_; }

 private:
  void* allocate(size_t bytes, size_t alignment) {
    const size_t unit = std::max<size_t>(alignment, 16);
    void* p = std::aligned_alloc(unit, align_up(bytes + 1, unit));
    if (p == nullptr) return nullptr;
    sizes_[p] = bytes;
    live_ += bytes;
    peak_ = std::max(peak_, live_);
    return p;
  }
  void release(void* p) {
    const auto found = sizes_.find(p);
    if (found == sizes_.end()) return;
    live_ -= found->second;
    sizes_.erase(found);
    std::free(p);
  }

  std::unordered_map<void*, size_t> sizes_;
  uint64_t live_ = 0, peak_ = 0;
};

}  // namespace lazyrt::test
