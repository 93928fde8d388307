#include "runtime/exec/device_memory.h"

#include <algorithm>
#include <cinttypes>
#include <new>

namespace lazyrt {
namespace {

/// The constants of a Program in a space; kept by its SharedObjects.
struct DeviceConstants {
  Allocator allocator;
  const Device* device = nullptr;
  void* program = nullptr;
  void* memory = nullptr;
};

void destroy_constants(void* object) {
  auto* constants = static_cast<DeviceConstants*>(object);
  if (constants->memory != nullptr)
    constants->device->release_memory(constants->program, constants->memory);
  const Allocator allocator = constants->allocator;
  allocator.release(allocator.context, constants);
}

Fault upload(const Device& device, void* program, Span<const uint8_t> bytes, void** memory) {
  LAZYRT_RETURN_IF_ERROR(device.allocate(program, bytes.size() + kTailBytes, memory));
  return device.upload(program, *memory, bytes.data(), bytes.size());
}

Fault make_constants(const Device& device, void* device_program, const ProgramState& program,
                     void** object) {
  const Allocator allocator = program.memory.allocator();
  void* memory = allocator.allocate(allocator.context, sizeof(DeviceConstants),
                                    alignof(DeviceConstants) < 16 ? 16 : alignof(DeviceConstants));
  if (memory == nullptr) return Fault(Error::kOutOfMemory, "no memory for constants");
  auto* constants = new (memory) DeviceConstants{allocator, &device, device_program};
  const Fault status =
      upload(device, device_program, program.sections.constants, &constants->memory);
  if (!status.ok()) {
    destroy_constants(constants);
    return status.with_context("constants in space %s", device.space);
  }
  *object = constants;
  return {};
}

}  // namespace

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

Fault DeviceMemory::make(const BackendServices::Slot& slot, const ProgramState& program,
                         const SpaceBytes& bytes, CountedMemory* counted) {
  constexpr uint64_t kMost = UINT64_MAX / 4;  // refused as it is
  const uint64_t workspace =
      (std::min(bytes.arena, kMost) + kTailBytes + kAlignment) / kAlignment * kAlignment;
  const uint64_t total = workspace + std::min(bytes.workspace, kMost) + kTailBytes;
  LAZYRT_RETURN_IF_ERROR(block_.make(slot, total, counted));
  void* constants = nullptr;
  const auto make = [&](void** object) {
    return make_constants(*slot.backend->device, slot.program, program, object);
  };
  const void* owner = &slot.backend->device;  // the backend itself owns what open_weights made
  LAZYRT_RETURN_IF_ERROR(program.shared.find_or_make(owner, make, destroy_constants, &constants));
  memory_.arena = block_.data();
  memory_.workspace = memory_.arena + workspace;
  memory_.constants = static_cast<const uint8_t*>(static_cast<DeviceConstants*>(constants)->memory);
  return {};
}

}  // namespace lazyrt
