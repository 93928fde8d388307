#pragma once

// Nodes on a GPU, by Vulkan. A session gets backend() as SessionOptions::backend.

#include "lazyrt/error.h"
#include "lazyrt/runtime.h"

namespace lazyrt {

struct VulkanOptions {
  /// Which of the system's devices; -1: the fastest kind.
  int device = -1;
  /// Runs what the device refuses; nullptr: nothing does, such models are refused.
  const Backend* fallback = nullptr;
  /// For tests: the limits that every device has, whatever this one has.
  bool mask_to_floor = false;
  /// For tests: copies through staging memory also where the host has the device's memory.
  bool force_staging = false;
};

class VulkanBackendState;

/// A device of Vulkan with its pipelines, which all sessions on it share. Must outlive the Programs
/// that have run on it.
class VulkanBackend {
 public:
  /// kUnsupported: there is no Vulkan 1.1 or no such device.
  static Result<VulkanBackend> create(const VulkanOptions& options = {});
  VulkanBackend(VulkanBackend&& other) noexcept : state_(std::exchange(other.state_, nullptr)) {}
  VulkanBackend& operator=(VulkanBackend&& other) noexcept {
    std::swap(state_, other.state_);
    return *this;
  }
  ~VulkanBackend();

  const Backend* backend() const;
  /// The device's name, as its driver says it.
  const char* device_name() const;
  /// Pipelines made so far.
  size_t pipeline_count() const;
  /// Submissions to the device so far; a run is one.
  uint64_t submission_count() const;

 private:
  VulkanBackend() = default;
  VulkanBackendState* state_ = nullptr;
};

}  // namespace lazyrt
