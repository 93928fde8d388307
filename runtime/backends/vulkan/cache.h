#pragma once

// What is kept in a folder between processes: compiled pipelines, and which operators failed a
// device's self-test. A file is used only by the build, device and driver that it was written for.

#include "lazyrt/span.h"
#include "runtime/backends/vulkan/physical.h"
#include "runtime/core/allocator.h"
#include "runtime/platform/platform.h"
#include "runtime/platform/threads.h"

namespace lazyrt {

/// A hash of the backend's sources: another build may compute different results.
extern const uint64_t kVulkanBuild;

/// The content of a file, which is unmapped when this is destroyed.
class VulkanCacheFile {
 public:
  VulkanCacheFile() = default;
  VulkanCacheFile(const VulkanCacheFile&) = delete;
  VulkanCacheFile& operator=(const VulkanCacheFile&) = delete;
  ~VulkanCacheFile() { platform_unmap_file(file_); }

  bool exists() const { return content_.data() != nullptr; }
  Span<const uint8_t> content() const { return content_; }

 private:
  friend class VulkanCache;
  MappedFile file_;
  Span<const uint8_t> content_;
};

/// Safe to use from any thread once it is open. An error with a file is never an error of a run: it
/// is logged, and status() has the last one.
class VulkanCache {
 public:
  enum class Kind : uint32_t { kPipelines = 1, kVerdict = 2 };

  /// nullptr: nothing is kept. kInvalidArgument: a path that is too long. REQUIRES: called once,
  /// before the other functions.
  Fault open(const char* folder, const VulkanPhysical& device);
  bool is_open() const { return folder_[0] != '\0'; }
  /// Reads the file of this kind and bundle (0: of all bundles), if there is an undamaged one of
  /// this device, driver and build.
  void read(Kind kind, uint64_t bundle, VulkanCacheFile* file);
  /// Creates or replaces it.
  Status write(Kind kind, uint64_t bundle, Span<const uint8_t> content, const Allocator& allocator);
  /// What went wrong last.
  Status status() const {
    const Lock lock(mutex_);
    return status_;
  }
  /// Notes and logs it.
  void report(const Status& status);

 private:
  static constexpr size_t kLongestFolder = 900, kLongestPath = 1000;

  /// Compared byte by byte.
  struct Key {
    uint64_t build;
    uint64_t bundle;
    uint8_t device[VK_UUID_SIZE];
    uint8_t driver[VK_UUID_SIZE];
    uint8_t pipelines[VK_UUID_SIZE];  ///< pipelineCacheUUID
    Kind kind;
    uint32_t vendor, product, driver_version, api_version;
    uint32_t reserved;
  };
  static_assert(sizeof(Key) == 88);
  struct Header {
    char magic[8];
    Key key;
    uint64_t bytes;     ///< of the content behind it
    uint64_t checksum;  ///< Checksum64 of the content
  };
  static_assert(sizeof(Header) == 112);

  Key key_of(Kind kind, uint64_t bundle) const;
  void path_of(Kind kind, uint64_t bundle, char (&path)[kLongestPath]) const;
  Fault check(Span<const uint8_t> bytes, const Key& key) const;

  char folder_[kLongestFolder] = "";
  Key device_ = {};  ///< what all keys share
  mutable Mutex mutex_;
  Status status_;
};

}  // namespace lazyrt
