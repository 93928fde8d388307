#include "runtime/exec/device_memory.h"

#include <algorithm>
#include <cinttypes>

namespace lazyrt {
Fault copy_out_now(const BackendServices::Slot& slot, void* to, const void* from, size_t bytes) {
  if (bytes == 0) return {};
  const Device& device = *slot.backend->device;
  size_t node = 0;
  FirstFault first;
  first.add(device.copy_out(slot.services, to, from, bytes));
  first.add(device.wait(slot.services, &node));
  return first;
}

DeviceBlock::~DeviceBlock() {
  if (data_ != nullptr) device_->release_memory(program_, data_);
  if (bytes_ != 0) counted_->give(bytes_);
}

Fault DeviceBlock::make(const BackendServices::Slot& slot, uint64_t bytes, CountedMemory* counted) {
  const Device& device = *slot.backend->device;
  if (!counted->take(bytes)) {
    return Fault(Error::kOutOfMemory, "no memory in space %s for %" PRIu64 " bytes", device.space,
                 bytes);
  }
  device_ = &device;
  program_ = slot.program;
  counted_ = counted;
  bytes_ = bytes;
  return device.allocate(program_, bytes, &data_).with_context("space %s", device.space);
}

Fault DeviceMemory::make(const BackendServices::Slot& slot, const SpaceBytes& bytes,
                         CountedMemory* counted) {
  constexpr uint64_t kMost = UINT64_MAX / 4;  // refused as it is
  const uint64_t alignment = slot.backend->device->alignment;
  const uint64_t workspace =
      (std::min(bytes.arena, kMost) + kTailBytes + alignment) / alignment * alignment;
  const uint64_t total = workspace + std::min(bytes.workspace, kMost) + kTailBytes;
  LAZYRT_RETURN_IF_ERROR(block_.make(slot, total, counted));
  memory_.arena = block_.data();
  memory_.workspace = memory_.arena + workspace;
  return {};
}

}  // namespace lazyrt
