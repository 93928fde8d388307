#include "runtime/backends/cpu/weight_store.h"

#include <cstddef>
#include <cstring>
#include <new>

namespace lazyrt {
namespace {

constexpr size_t kBlockAlignment = 64;
constexpr size_t kFirstBuckets = 64;

size_t rounded_up(size_t n) { return (n + kBlockAlignment - 1) & ~(kBlockAlignment - 1); }

void mix(uint64_t* h, uint64_t value) {
  *h = (*h ^ value) * 0x9E3779B97F4A7C15u;
  *h ^= *h >> 32;
}

}  // namespace

uint64_t WeightKey::hash() const {
  uint64_t h = seed;
  mix(&h, reinterpret_cast<uintptr_t>(kernel));
  mix(&h, reinterpret_cast<uintptr_t>(bias));
  mix(&h, static_cast<uint64_t>(tag.packer));
  for (int i = 0; i < tag.count; ++i) mix(&h, static_cast<uint64_t>(tag.values[i]));
  return h;
}

// The data follows the header, which is padded to kBlockAlignment.
struct WeightStore::Block {
  WeightKey key;
  uint64_t hash;
  size_t bytes;
  Block* next;

  void* data() { return reinterpret_cast<char*>(this) + rounded_up(sizeof(Block)); }
};

/// Bytes of a whole block. One cache line more than requested: micro-kernels may read past the end
/// of weights.
size_t WeightStore::block_bytes(size_t bytes) {
  return rounded_up(sizeof(Block)) + rounded_up(bytes) + kBlockAlignment;
}

uint64_t WeightStore::most_bytes(uint64_t constant_bytes) {
  constexpr uint64_t kMost = UINT64_MAX / 8;
  return kPackedSlack +
         kPackedFactor *
             (constant_bytes < kMost / kPackedFactor ? constant_bytes : kMost / kPackedFactor);
}

WeightStore* WeightStore::create(const Allocator& allocator, uint64_t constant_bytes) {
  void* memory =
      allocator.allocate(allocator.context, sizeof(WeightStore), alignof(std::max_align_t));
  return memory == nullptr ? nullptr
                           : new (memory) WeightStore(allocator, most_bytes(constant_bytes));
}

void WeightStore::destroy(WeightStore* store) {
  if (store == nullptr) return;
  const Allocator allocator = store->allocator_;
  store->~WeightStore();
  allocator.release(allocator.context, store);
}

WeightStore::WeightStore(const Allocator& allocator, uint64_t most_bytes)
    : allocator_(allocator), most_bytes_(most_bytes) {
#if LAZYRT_HAS_XNNPACK
  provider_.context = this;
  provider_.look_up = look_up;
  provider_.reserve_space = reserve_space;
  provider_.look_up_or_insert = look_up_or_insert;
  provider_.is_finalized = is_finalized;
  provider_.offset_to_addr = offset_to_addr;
  provider_.delete_cache = delete_cache;
#endif
}

WeightStore::~WeightStore() {
#if LAZYRT_HAS_XNNPACK
  release(reserved_);
#endif
  for (size_t i = 0; i < bucket_count_; ++i) {
    while (buckets_[i] != nullptr) {
      Block* next = buckets_[i]->next;
      release(buckets_[i]);
      buckets_[i] = next;
    }
  }
  if (buckets_ != nullptr) allocator_.release(allocator_.context, buckets_);
}

WeightStore::Packing::Packing(WeightStore* store, const PackingTag& tag, size_t source_bytes,
                              CountedMemory* memory)
    : store_(store) {
  store_->mutex_.lock();
  store_->tag_ = tag;
  store_->source_bytes_ = source_bytes;
  store_->memory_ = memory;
  bytes_before_ = store_->bytes_;
}

WeightStore::Packing::~Packing() {
#if LAZYRT_HAS_XNNPACK
  store_->release(store_->reserved_);
  store_->reserved_ = nullptr;
#endif
  store_->memory_ = nullptr;
  store_->mutex_.unlock();
}

void* WeightStore::Packing::find(const void* kernel, const void* bias, size_t bytes) const {
  Block* block = store_->find({store_->tag_, 0, kernel, bias}, bytes, bytes);
  return block == nullptr ? nullptr : block->data();
}

void* WeightStore::Packing::insert(const void* kernel, const void* bias, size_t bytes) {
  Block* block = store_->allocate(bytes);
  if (block == nullptr) return nullptr;
  std::memset(block->data(), 0, bytes);
  if (store_->add(block, {store_->tag_, 0, kernel, bias})) return block->data();
  store_->release(block);
  return nullptr;
}

size_t WeightStore::bytes() {
  const Lock lock(mutex_);
  return bytes_;
}

uint64_t WeightStore::held_bytes() {
  const Lock lock(mutex_);
  return held_bytes_;
}

uint64_t WeightStore::probes() {
  const Lock lock(mutex_);
  return probes_;
}

WeightStore::Block* WeightStore::find(const WeightKey& key, size_t least, size_t most) const {
  if (bucket_count_ == 0) return nullptr;
  const uint64_t hash = key.hash();
  for (Block* b = buckets_[hash & (bucket_count_ - 1)]; b != nullptr; b = b->next) {
    ++probes_;
    if (b->hash == hash && b->key == key && b->bytes >= least && b->bytes <= most) return b;
  }
  return nullptr;
}

WeightStore::Block* WeightStore::allocate(size_t bytes) {
  if (bytes > SIZE_MAX / 2) return nullptr;
  const size_t total = block_bytes(bytes);
  if (!admit(total)) return nullptr;
  void* memory = allocator_.allocate(allocator_.context, total, kBlockAlignment);
  if (memory == nullptr) {
    if (memory_ != nullptr) memory_->give(total);
    return nullptr;
  }
  held_bytes_ += total;
  return new (memory) Block{{}, 0, bytes, nullptr};
}

/// Returns whether a block of this many bytes may be made, and counts it if so.
bool WeightStore::admit(uint64_t bytes) {
  const bool fits =
      bytes <= kPackingSlack + kPackingFactor * static_cast<uint64_t>(source_bytes_) &&
      bytes <= most_bytes_ - held_bytes_;
  if (memory_ == nullptr) return fits;
  if (!fits) return memory_->refuse_share(), false;
  return memory_->take(bytes);
}

void WeightStore::release(Block* block) {
  if (block == nullptr) return;
  const size_t total = block_bytes(block->bytes);
  held_bytes_ -= total;
  if (memory_ != nullptr) memory_->give(total);
  allocator_.release(allocator_.context, block);
}

bool WeightStore::add(Block* block, const WeightKey& key) {
  if (!has_place() && !grow()) return false;
  block->key = key;
  block->hash = key.hash();
  Block** bucket = &buckets_[block->hash & (bucket_count_ - 1)];
  block->next = *bucket;
  *bucket = block;
  ++count_;
  bytes_ += block->bytes;
  return true;
}

bool WeightStore::grow() {
  const size_t wanted = bucket_count_ == 0 ? kFirstBuckets : 2 * bucket_count_;
  auto** buckets = static_cast<Block**>(
      allocator_.allocate(allocator_.context, wanted * sizeof(Block*), alignof(std::max_align_t)));
  if (buckets == nullptr) return false;
  for (size_t i = 0; i < wanted; ++i) buckets[i] = nullptr;
  for (size_t i = 0; i < bucket_count_; ++i) {
    while (Block* block = buckets_[i]) {
      buckets_[i] = block->next;
      Block** bucket = &buckets[block->hash & (wanted - 1)];
      block->next = *bucket;
      *bucket = block;
    }
  }
  if (buckets_ != nullptr) allocator_.release(allocator_.context, buckets_);
  buckets_ = buckets;
  bucket_count_ = wanted;
  return true;
}

#if LAZYRT_HAS_XNNPACK

// XNNPACK's callbacks. Their "offset" is opaque to XNNPACK: we use the address itself, so nothing
// ever moves.

namespace {
constexpr size_t kNotFound = SIZE_MAX;
}  // namespace

WeightKey WeightStore::key_of(const xnn_weights_cache_look_up_key* key) const {
  return {tag_, key->seed, key->kernel, key->bias};
}

size_t WeightStore::look_up(void* context, const xnn_weights_cache_look_up_key* key) {
  auto* store = static_cast<WeightStore*>(context);
  Block* block = store->find(store->key_of(key), store->source_bytes_, SIZE_MAX);
  return block == nullptr ? kNotFound : reinterpret_cast<size_t>(block->data());
}

/// Reserves a place in the table as well, so that inserting cannot fail: XNNPACK does not check
/// whether it did.
void* WeightStore::reserve_space(void* context, size_t bytes) {
  auto* store = static_cast<WeightStore*>(context);
  store->release(store->reserved_);
  store->reserved_ = nullptr;
  if (!store->has_place() && !store->grow()) return nullptr;
  store->reserved_ = bytes < store->source_bytes_ ? nullptr : store->allocate(bytes);
  return store->reserved_ == nullptr ? nullptr : store->reserved_->data();
}

size_t WeightStore::look_up_or_insert(void* context, const xnn_weights_cache_look_up_key* key,
                                      void* data, size_t bytes) {
  auto* store = static_cast<WeightStore*>(context);
  if (Block* block = store->find(store->key_of(key), bytes, bytes)) {
    return reinterpret_cast<size_t>(block->data());
  }
  Block* block = store->reserved_;
  if (block == nullptr || data != block->data() || bytes != block->bytes) return kNotFound;
  if (!store->add(block, store->key_of(key))) return kNotFound;
  store->reserved_ = nullptr;
  return reinterpret_cast<size_t>(block->data());
}

// "Finalized" only means here that operators may be set up, which is always the case.
bool WeightStore::is_finalized(void*) { return true; }
void* WeightStore::offset_to_addr(void*, size_t offset) { return reinterpret_cast<void*>(offset); }
xnn_status WeightStore::delete_cache(void*) { return xnn_status_success; }

#endif

}  // namespace lazyrt
