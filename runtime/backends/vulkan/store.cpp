#include "runtime/backends/vulkan/store.h"

#include <algorithm>
#include <cstring>

#include "lazyrt/tensor_view.h"
#include "runtime/backends/vulkan/one_shot.h"

namespace lazyrt {

VulkanStore::~VulkanStore() {
  for (const void* chunk : chunks_) memory_.release(chunk);
}

uint64_t VulkanStore::most_bytes(uint64_t constant_bytes) {
  constexpr uint64_t kSlack = uint64_t{64} << 20, kFactor = 4, kMost = UINT64_MAX / 8;
  return kSlack + kFactor * std::min(constant_bytes, kMost / kFactor);
}

uint64_t VulkanStore::held_bytes() {
  const Lock lock(mutex_);
  return held_bytes_;
}

const void* VulkanStore::find(const PackKey& key) const {
  for (const Block& block : blocks_) {
    if (std::memcmp(&block.key, &key, sizeof(key)) == 0) return block.address;
  }
  return nullptr;
}

/// Takes memory in chunks, because a device allows few allocations.
Fault VulkanStore::place(uint64_t bytes, void** address) {
  constexpr uint64_t kLeast = uint64_t{1} << 18, kMost = uint64_t{1} << 26, kAlign = 256;
  bytes = (std::max<uint64_t>(bytes, 1) + kAlign - 1) / kAlign * kAlign;
  if (bytes > most_bytes_ - held_bytes_) {
    return Fault(Error::kUnsupported, "constants on the device would exceed %llu bytes",
                 static_cast<unsigned long long>(most_bytes_));
  }
  if (chunk_bytes_ - chunk_used_ < bytes) {
    const uint64_t wanted = std::max(bytes, std::min(std::max(kLeast, 2 * chunk_bytes_), kMost));
    void* chunk = nullptr;
    LAZYRT_RETURN_IF_ERROR(memory_.allocate(wanted, &chunk));
    const Fault kept = chunks_.append(chunk);
    if (!kept.ok()) return memory_.release(chunk), kept;
    chunk_bytes_ = wanted;
    chunk_used_ = 0;
  }
  *address = static_cast<uint8_t*>(chunks_[chunks_.size() - 1]) + chunk_used_;
  chunk_used_ += bytes;
  held_bytes_ += bytes;
  return {};
}

Fault VulkanStore::add(const PackKey& key, uint64_t bytes, const void* data, const void** address) {
  void* placed = nullptr;
  LAZYRT_RETURN_IF_ERROR(place(bytes, &placed));
  LAZYRT_RETURN_IF_ERROR(upload(placed, data, bytes));
  *address = placed;
  return blocks_.append({key, placed});
}

Fault VulkanStore::find_or_pack(const PackKey& key, uint64_t bytes,
                                void (*fill)(const void* context, void* to), const void* context,
                                const void** address) {
  const Lock lock(mutex_);
  *address = find(key);
  if (*address != nullptr) return {};
  void* packed = allocator_.allocate(allocator_.context, static_cast<size_t>(bytes), kAlignment);
  if (packed == nullptr) return Fault(Error::kOutOfMemory, "no memory to pack constants in");
  fill(context, packed);
  const Fault fault = add(key, bytes, packed, address);
  allocator_.release(allocator_.context, packed);
  return fault;
}

Fault VulkanStore::find_or_copy(const void* constant, uint64_t bytes, const void** address) {
  PackKey key;
  key.sources[0] = constant;
  key.numbers[0] = static_cast<int64_t>(bytes);
  const Lock lock(mutex_);
  *address = find(key);
  return *address != nullptr ? Fault() : add(key, bytes, constant, address);
}

Fault VulkanStore::upload(void* to, const void* from, uint64_t bytes) {
  if (bytes == 0) return {};
  VulkanPlace place;
  LAZYRT_RETURN_IF_ERROR(memory_.find(to, bytes, &place));
  if (place.mapped == nullptr)
    return upload_staged(place, static_cast<const uint8_t*>(from), bytes);
  std::memcpy(place.mapped, from, static_cast<size_t>(bytes));
  return {};
}

Fault VulkanStore::upload_staged(const VulkanPlace& to, const uint8_t* from, uint64_t bytes) {
  constexpr uint64_t kPiece = uint64_t{4} << 20;
  const auto rounded = [](uint64_t n) { return (n + 3) / 4 * 4; };
  VulkanBuffer staging;
  LAZYRT_RETURN_IF_ERROR(device_.make_host_buffer(rounded(std::min(bytes, kPiece)), &staging));
  Fault fault;
  for (uint64_t done = 0; fault.ok() && done < bytes; done += kPiece) {
    const uint64_t piece = std::min(bytes - done, kPiece);
    std::memcpy(staging.mapped, from + done, static_cast<size_t>(piece));
    fault = copy_now(&device_, staging.buffer, {0, to.offset + done, rounded(piece)}, to.buffer);
  }
  device_.release_buffer(staging);
  return fault;
}

}  // namespace lazyrt
