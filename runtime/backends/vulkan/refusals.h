#pragma once

#include <cstring>

#include "runtime/core/fault.h"
#include "runtime/platform/threads.h"

namespace lazyrt {

/// Operators that a device is not trusted with. Safe to use from any thread.
class VulkanRefusals {
 public:
  static constexpr size_t kMostOps = 64, kMostName = 32;

  /// "": all operators.
  Fault add(const char* op) {
    const Lock lock(mutex_);
    if (find(op)) return {};
    if (count_ == kMostOps || std::strlen(op) >= kMostName)
      return Fault(Error::kInvalidArgument, "more operators are refused than are kept: refuse all");
    std::strcpy(names_[count_++], op);
    return {};
  }
  /// kUnsupported: it is refused.
  Fault check(const char* op) const {
    const Lock lock(mutex_);
    if (!find(op) && !find("")) return {};
    return Fault(Error::kUnsupported, "%s failed the self-test on this device", op);
  }
  size_t count() const {
    const Lock lock(mutex_);
    return count_;
  }
  /// REQUIRES: i < count().
  const char* name(size_t i) const { return names_[i]; }

 private:
  bool find(const char* op) const {
    for (size_t i = 0; i < count_; ++i) {
      if (std::strcmp(names_[i], op) == 0) return true;
    }
    return false;
  }

  mutable Mutex mutex_;
  char names_[kMostOps][kMostName] = {};
  size_t count_ = 0;
};

}  // namespace lazyrt
