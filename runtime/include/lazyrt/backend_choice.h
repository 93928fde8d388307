#pragma once

// Backends by the names that people give: "cpu", "reference", "vulkan", "auto".

#include <cstring>
#include <optional>
#include <utility>

#include "lazyrt/runtime.h"
#if LAZYRT_HAS_VULKAN
#include "lazyrt/vulkan.h"
#endif

namespace lazyrt {

/// Finds a backend by its name, and owns the device that "vulkan" opens when it is first asked for.
/// Outlives the Programs that run on it. Not to be called by several threads at once.
class BackendChoice {
 public:
  /// All names, "cpu" first. A backend that this library lacks is listed, too; find() then says so.
  static constexpr const char* kNames[] = {"cpu", "reference", "vulkan", "auto"};

  /// `cache_folder`: see VulkanOptions::cache_folder; must stay valid until find() has opened the
  /// device.
  explicit BackendChoice(const char* cache_folder = nullptr) : cache_folder_(cache_folder) {}

  /// "vulkan": nodes that the device refuses run on the cpu. "auto": vulkan if there is a device,
  /// else cpu. `device`: the number of a Vulkan device, or -1 for the fastest kind; REQUIRES: the
  /// same in each call. kInvalidArgument: no backend has this name; kUnsupported: there is no such
  /// device, or the library was built without Vulkan.
  Result<const Backend*> find(const char* name, int device = -1) {
    if (std::strcmp(name, "cpu") == 0) return cpu_backend();
    if (std::strcmp(name, "reference") == 0) return reference_backend();
    const bool is_auto = std::strcmp(name, "auto") == 0;
    if (!is_auto && std::strcmp(name, "vulkan") != 0)
      return Status(Error::kInvalidArgument,
                    "no such backend; there are cpu, reference, vulkan, auto");
    const Status status = open_vulkan(device);
    if (status.ok()) return vulkan();
    if (is_auto && status.error() == Error::kUnsupported) return cpu_backend();
    return status;
  }

#if LAZYRT_HAS_VULKAN
  /// Whether find() has opened a device of Vulkan.
  bool is_vulkan_open() const { return vulkan_.has_value(); }
  /// Tests the device with the bundle's samples before sessions are made on it, and leaves
  /// operators that it computes wrongly to the cpu: see self_test in lazyrt/vulkan.h. REQUIRES here
  /// and below: is_vulkan_open().
  Status self_test(const Program& program) {
    return lazyrt::self_test(&*vulkan_, program, cpu_backend());
  }
  const char* device_name() const { return vulkan_->device_name(); }
  /// Operators that self_test() left to the cpu; "": all.
  size_t refused_count() const { return vulkan_->refused_count(); }
  const char* refused(size_t i) const { return vulkan_->refused(i); }
#else
  bool is_vulkan_open() const { return false; }
  Status self_test(const Program&) { return {}; }
  const char* device_name() const { return ""; }
  size_t refused_count() const { return 0; }
  const char* refused(size_t) const { return ""; }
#endif

 private:
#if LAZYRT_HAS_VULKAN
  Status open_vulkan(int device) {
    if (vulkan_) return {};
    VulkanOptions options;
    options.device = device;
    options.fallback = cpu_backend();
    options.cache_folder = cache_folder_;
    Result<VulkanBackend> made = VulkanBackend::create(options);
    if (made.ok()) vulkan_.emplace(std::move(*made));
    return made.status();
  }
  const Backend* vulkan() const { return vulkan_->backend(); }

  std::optional<VulkanBackend> vulkan_;
#else
  Status open_vulkan(int) const {
    return Status(Error::kUnsupported, "this library was built without Vulkan (LAZYRT_VULKAN)");
  }
  const Backend* vulkan() const { return nullptr; }
#endif
  [[maybe_unused]] const char* const cache_folder_;
};

}  // namespace lazyrt
