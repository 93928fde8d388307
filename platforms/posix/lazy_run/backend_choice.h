#pragma once

#include <optional>
#include <string>

#include "lazyrt/runtime.h"
#include "platforms/posix/lazy_run/failure.h"
#if LAZYRT_HAS_VULKAN
#include "lazyrt/vulkan.h"
#endif

namespace lazyrt::run {

/// The backends by name. A device is opened when it is first asked for; what it refuses, the cpu
/// runs. All end with this.
class BackendChoice {
 public:
  /// "cpu", "reference", "vulkan", or "auto": vulkan where there is a device, else cpu. `device`: a
  /// number of Vulkan's, or -1.
  const Backend* find(const std::string& name, int device = -1) {
    if (name == "reference") return reference_backend();
    if (name == "cpu") return cpu_backend();
    const Status status = open_vulkan(device);
    if (status.ok()) return vulkan();
    if (name == "auto" && status.error() == Error::kUnsupported) return cpu_backend();
    throw Failure(ExitCode::kRun, status.message());
  }

 private:
#if LAZYRT_HAS_VULKAN
  Status open_vulkan(int device) {
    if (vulkan_) return {};
    VulkanOptions options;
    options.device = device;
    options.fallback = cpu_backend();
    Result<VulkanBackend> made = VulkanBackend::create(options);
    if (made.ok()) vulkan_.emplace(std::move(*made));
    return made.status();
  }
  const Backend* vulkan() const { return vulkan_->backend(); }

  std::optional<VulkanBackend> vulkan_;
#else
  Status open_vulkan(int) const {
    return Status(Error::kUnsupported, "this program was built without Vulkan (LAZYRT_VULKAN)");
  }
  const Backend* vulkan() const { return nullptr; }
#endif
};

}  // namespace lazyrt::run
