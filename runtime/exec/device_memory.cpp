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

void DeviceBlock::release() {
  if (block_.address != nullptr) device_->release_memory(program_, block_.address);
  if (bytes_ != 0) counted_->give(bytes_);
  block_ = {};
  bytes_ = 0;
}

void DeviceBlock::take(DeviceBlock* other) {
  release();
  device_ = other->device_;
  program_ = other->program_;
  counted_ = other->counted_;
  block_ = other->block_;
  bytes_ = other->bytes_;
  other->block_ = {};
  other->bytes_ = 0;
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
  return device.allocate(program_, bytes, &block_).with_context("space %s", device.space);
}

Fault DeviceMemory::make(const BackendServices::Slot& slot, const SpaceBytes& bytes,
                         const DeviceBlock& kept, CountedMemory* counted) {
  constexpr uint64_t kMost = UINT64_MAX / 4;  // refused as it is
  const uint64_t alignment = slot.backend->device->alignment;
  const uint64_t workspace =
      (std::min(bytes.arena, kMost) + kTailBytes + alignment) / alignment * alignment;
  const uint64_t total = workspace + std::min(bytes.workspace, kMost) + kTailBytes;
  if (kept.bytes() < total) LAZYRT_RETURN_IF_ERROR(own_.make(slot, total, counted));
  const DeviceBlock& block = owns() ? own_ : kept;
  bytes_ = block.bytes();
  memory_.arena = block.data();
  memory_.workspace = memory_.arena + workspace;
  memory_.host_arena = block.host();
  return {};
}

}  // namespace lazyrt
