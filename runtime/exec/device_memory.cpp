#include "runtime/exec/device_memory.h"

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

Status upload(const Device& device, void* program, Span<const uint8_t> bytes, void** memory) {
  LAZYRT_RETURN_IF_ERROR(device.allocate(program, bytes.size() + kTailBytes, memory));
  return device.upload(program, *memory, bytes.data(), bytes.size());
}

Status make_constants(const Device& device, void* device_program, const ProgramState& program,
                      void** object) {
  const Allocator& allocator = program.allocator;
  void* memory = allocator.allocate(allocator.context, sizeof(DeviceConstants),
                                    alignof(DeviceConstants) < 16 ? 16 : alignof(DeviceConstants));
  if (memory == nullptr) return Status(Error::kOutOfMemory, "no memory for constants");
  auto* constants = new (memory) DeviceConstants{allocator, &device, device_program};
  const Status status =
      upload(device, device_program, program.sections.constants, &constants->memory);
  if (!status.ok()) {
    destroy_constants(constants);
    return status.with_context("constants in space %s", device.space);
  }
  *object = constants;
  return {};
}

}  // namespace

DeviceMemory::~DeviceMemory() {
  if (block_ != nullptr) device_->release_memory(program_, block_);
  if (bytes_ != 0) counted_->give(bytes_);
}

Status DeviceMemory::make(const BackendServices::Slot& slot, const ProgramState& program,
                          const SpaceBytes& bytes, CountedMemory* counted) {
  device_ = slot.backend->device;
  program_ = slot.program;
  counted_ = counted;
  uint64_t states = 0, workspace = 0, total = 0;
  if (__builtin_add_overflow(bytes.arena, uint64_t{kTailBytes} + kAlignment, &states) ||
      __builtin_add_overflow(states / kAlignment * kAlignment, bytes.states, &workspace) ||
      __builtin_add_overflow(workspace, bytes.workspace + kTailBytes, &total) ||
      !counted->take(total)) {
    return Status(Error::kOutOfMemory, "no memory in space %s for an arena of %" PRIu64 " bytes",
                  device_->space, bytes.arena);
  }
  bytes_ = total;
  LAZYRT_RETURN_IF_ERROR(
      device_->allocate(program_, total, &block_).with_context("space %s", device_->space));
  void* constants = nullptr;
  const auto make = [&](void** object) {
    return make_constants(*device_, program_, program, object);
  };
  const void* owner = &slot.backend->device;  // the backend itself owns what open_weights made
  LAZYRT_RETURN_IF_ERROR(program.shared.find_or_make(owner, make, destroy_constants, &constants));
  memory_.arena = static_cast<uint8_t*>(block_);
  memory_.states = memory_.arena + states / kAlignment * kAlignment;
  memory_.workspace = memory_.arena + workspace;
  memory_.constants = static_cast<const uint8_t*>(static_cast<DeviceConstants*>(constants)->memory);
  return {};
}

}  // namespace lazyrt
