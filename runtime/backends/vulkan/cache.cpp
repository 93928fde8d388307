#include "runtime/backends/vulkan/cache.h"

#include <cinttypes>
#include <cstdio>
#include <cstring>

#include "runtime/core/log.h"
#include "runtime/platform/files.h"
#include "schema/bundle_file.h"

namespace lazyrt {
namespace {

constexpr char kMagic[8] = {'L', 'Z', 'R', 'T', 'V', 'K', 'C', '1'};

}  // namespace

Fault VulkanCache::open(const char* folder, const VulkanPhysical& device) {
  if (folder == nullptr) return {};
  const size_t length = std::strlen(folder);
  if (length == 0 || length >= kLongestFolder)
    return Fault(Error::kInvalidArgument,
                 "the cache's folder has a path of %zu bytes, 1 to %zu are allowed", length,
                 kLongestFolder - 1);
  std::memcpy(folder_, folder, length + 1);
  device_.build = kVulkanBuild;
  std::memcpy(device_.device, device.id.deviceUUID, VK_UUID_SIZE);
  std::memcpy(device_.driver, device.id.driverUUID, VK_UUID_SIZE);
  std::memcpy(device_.pipelines, device.properties.pipelineCacheUUID, VK_UUID_SIZE);
  device_.vendor = device.properties.vendorID;
  device_.product = device.properties.deviceID;
  device_.driver_version = device.properties.driverVersion;
  device_.api_version = device.properties.apiVersion;
  return {};
}

VulkanCache::Key VulkanCache::key_of(Kind kind, uint64_t bundle) const {
  Key key = device_;
  key.kind = kind;
  key.bundle = bundle;
  return key;
}

/// Uses one name per device, kind and bundle, so that a new driver or build replaces the old file.
void VulkanCache::path_of(Kind kind, uint64_t bundle, char (&path)[kLongestPath]) const {
  const uint64_t device = Checksum64::of(device_.device, sizeof(device_.device));
  if (kind == Kind::kPipelines) {
    std::snprintf(path, sizeof(path), "%s/lazyrt-%016" PRIx64 ".pipelines", folder_, device);
  } else {
    std::snprintf(path, sizeof(path), "%s/lazyrt-%016" PRIx64 "-%016" PRIx64 ".verdict", folder_,
                  device, bundle);
  }
}

Fault VulkanCache::check(Span<const uint8_t> bytes, const Key& key) const {
  Header header;
  if (bytes.size() < sizeof(header)) return Fault(Error::kIo, "it is too short");
  std::memcpy(&header, bytes.data(), sizeof(header));
  if (std::memcmp(header.magic, kMagic, sizeof(kMagic)) != 0)
    return Fault(Error::kIo, "it is not a file of LazyRT");
  if (std::memcmp(&header.key, &key, sizeof(key)) != 0)
    return Fault(Error::kIo, "it is of another driver, device, bundle or build");
  const size_t content = bytes.size() - sizeof(header);
  if (header.bytes != content ||
      header.checksum != Checksum64::of(bytes.data() + sizeof(header), content))
    return Fault(Error::kIo, "it is damaged");
  return {};
}

void VulkanCache::read(Kind kind, uint64_t bundle, VulkanCacheFile* file) {
  if (!is_open()) return;
  char path[kLongestPath];
  path_of(kind, bundle, path);
  const Status mapped = platform_map_file(path, &file->file_);
  if (mapped.error() == Error::kNotFound) return;
  if (!mapped.ok()) return report(mapped);
  const Span<const uint8_t> bytes(file->file_.data, file->file_.bytes);
  const Fault fault = check(bytes, key_of(kind, bundle));
  if (!fault.ok()) return report(fault.with_context("'%s' is not used", path));
  file->content_ = {bytes.data() + sizeof(Header), bytes.size() - sizeof(Header)};
}

Status VulkanCache::write(Kind kind, uint64_t bundle, Span<const uint8_t> content,
                          const Allocator& allocator) {
  if (!is_open()) return {};
  Header header = {};
  std::memcpy(header.magic, kMagic, sizeof(kMagic));
  header.key = key_of(kind, bundle);
  header.bytes = content.size();
  header.checksum = Checksum64::of(content.data(), content.size());
  const size_t bytes = sizeof(header) + content.size();
  auto* whole =
      static_cast<uint8_t*>(allocator.allocate(allocator.context, bytes, alignof(Header)));
  Status status;
  if (whole == nullptr) {
    status = Status(Error::kOutOfMemory, "no memory to write the vulkan backend's cache");
  } else {
    std::memcpy(whole, &header, sizeof(header));
    if (!content.empty()) std::memcpy(whole + sizeof(header), content.data(), content.size());
    char path[kLongestPath];
    path_of(kind, bundle, path);
    status = platform_replace_file(path, whole, bytes);
    allocator.release(allocator.context, whole);
  }
  if (!status.ok()) report(status);
  return status;
}

void VulkanCache::report(const Status& status) {
  log_line(LogLevel::kWarning, "the vulkan backend's cache: %s", status.message());
  const Lock lock(mutex_);
  status_ = status;
}

}  // namespace lazyrt
