#include "runtime/backends/vulkan/memory.h"

namespace lazyrt {
namespace {

/// Addresses are multiples of this, so that they are aligned if their offsets are.
constexpr uintptr_t kGrain = 65536;

constexpr uint64_t in_grains(uint64_t bytes) { return (bytes + kGrain) / kGrain * kGrain; }

}  // namespace

VulkanMemory::~VulkanMemory() {
  for (const Block& block : blocks_) device_.release_buffer(block.buffer);
}

Fault VulkanMemory::allocate(uint64_t bytes, bool host, void** address) {
  const uint64_t words = (bytes + 3) / 4 * 4;
  VulkanBuffer buffer;
  LAZYRT_RETURN_IF_ERROR(host ? device_.make_host_buffer(words, &buffer)
                              : device_.make_buffer(words, &buffer));
  const Lock lock(mutex_);
  uintptr_t begin = kGrain;
  size_t at = 0;
  for (; at < blocks_.size(); ++at) {  // the first gap that is large enough
    if (blocks_[at].begin - begin >= in_grains(bytes)) break;
    begin = blocks_[at].begin + static_cast<uintptr_t>(in_grains(blocks_[at].buffer.bytes));
  }
  const bool fits = in_grains(bytes) <= UINTPTR_MAX - begin;
  Fault fault = fits ? blocks_.insert(at, {begin, buffer})
                     : Fault(Error::kOutOfMemory, "no addresses are left for the device");
  if (!fault.ok()) return device_.release_buffer(buffer), fault;
  *address = reinterpret_cast<void*>(begin);
  return {};
}

void VulkanMemory::release(const void* address) {
  const Lock lock(mutex_);
  const size_t at = find_block(reinterpret_cast<uintptr_t>(address));
  device_.release_buffer(blocks_[at].buffer);
  blocks_.remove(at);
  ++generation_;
}

uint64_t VulkanMemory::generation() {
  const Lock lock(mutex_);
  return generation_;
}

size_t VulkanMemory::find_block(uintptr_t address) const {
  size_t first = 0, count = blocks_.size();
  while (count > 0) {
    const size_t half = count / 2;
    const Block& block = blocks_[first + half];
    if (block.begin + block.buffer.bytes > address) {
      count = half;
    } else {
      first += half + 1;
      count -= half + 1;
    }
  }
  return first;
}

Fault VulkanMemory::find(const void* address, uint64_t bytes, VulkanPlace* place) {
  const auto number = reinterpret_cast<uintptr_t>(address);
  const Lock lock(mutex_);
  const size_t at = find_block(number);
  if (at < blocks_.size() && blocks_[at].begin <= number) {
    const VulkanBuffer& buffer = blocks_[at].buffer;
    const uint64_t offset = number - blocks_[at].begin;
    if (bytes <= buffer.bytes - offset) {
      *place = {buffer.buffer, offset, buffer.mapped == nullptr ? nullptr : buffer.mapped + offset};
      return {};
    }
  }
  return Fault(Error::kInvalidArgument, "%llu bytes that are not in the device's memory",
               static_cast<unsigned long long>(bytes));
}

}  // namespace lazyrt
