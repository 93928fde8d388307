#pragma once

#include <cstring>

#include "lazyrt/span.h"
#include "runtime/core/fault.h"
#include "runtime/platform/threads.h"

namespace lazyrt {

/// Operators that a device is not trusted with. Safe to use from any thread.
class VulkanRefusals {
 public:
  static constexpr size_t kMostOps = 64, kMostName = 32;
  static constexpr size_t kMostBytes = kMostOps * kMostName;

  /// "": all operators.
  Fault add(const char* op) {
    const Lock lock(mutex_);
    if (find(op)) return {};
    if (count_ == kMostOps || std::strlen(op) >= kMostName)
      return Fault(Error::kInvalidArgument,
                   "the list of refused operators is full: refuse all operators");
    std::strcpy(names_[count_++], op);
    return {};
  }
  /// kUnsupported: it is refused.
  Fault check(const char* op) const {
    const Lock lock(mutex_);
    if (find(op)) return Fault(Error::kUnsupported, "%s failed the self-test on this device", op);
    if (!find("")) return {};
    return Fault(Error::kUnsupported,
                 "this device failed the self-test; which operator was wrong is not known");
  }
  size_t count() const {
    const Lock lock(mutex_);
    return count_;
  }
  /// REQUIRES: i < count().
  const char* name(size_t i) const { return names_[i]; }

  /// Writes the names, each followed by a zero; returns the number of bytes.
  size_t write(uint8_t (&bytes)[kMostBytes]) const {
    const Lock lock(mutex_);
    size_t size = 0;
    for (size_t i = 0; i < count_; ++i) {
      const size_t length = std::strlen(names_[i]) + 1;
      std::memcpy(bytes + size, names_[i], length);
      size += length;
    }
    return size;
  }
  /// Adds the names that write() wrote. kIo: these are not bytes that write() wrote.
  Fault read(Span<const uint8_t> bytes) {
    while (!bytes.empty()) {
      const void* end = std::memchr(bytes.data(), 0, bytes.size());
      if (end == nullptr) return Fault(Error::kIo, "the name of a refused operator has no end");
      LAZYRT_RETURN_IF_ERROR(add(reinterpret_cast<const char*>(bytes.data())));
      const auto length = static_cast<size_t>(static_cast<const uint8_t*>(end) - bytes.data()) + 1;
      bytes = bytes.subspan(length, bytes.size() - length);
    }
    return {};
  }

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
