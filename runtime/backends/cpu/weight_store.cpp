#include "runtime/backends/cpu/weight_store.h"

#include <cstdlib>
#include <cstring>
#include <new>

namespace lazyrt {
namespace {

constexpr size_t kBlockAlignment = 64;
constexpr size_t kNotFound = SIZE_MAX;

size_t rounded_up(size_t n) { return (n + kBlockAlignment - 1) & ~(kBlockAlignment - 1); }

size_t bucket_of(const WeightKey& key, size_t buckets) {
  uint64_t h = reinterpret_cast<uintptr_t>(key.kernel) >> 6;
  h ^= reinterpret_cast<uintptr_t>(key.bias) >> 4;
  h ^= key.seed ^ key.tag.op;
  h *= 0x9E3779B97F4A7C15u;
  return static_cast<size_t>(h >> 32) % buckets;
}

}  // namespace

// The data follows the header, which is padded to kBlockAlignment.
struct WeightStore::Block {
  WeightKey key;
  size_t bytes;
  Block* next;

  void* data() { return reinterpret_cast<char*>(this) + rounded_up(sizeof(Block)); }
};

WeightStore* WeightStore::create() { return new (std::nothrow) WeightStore(); }
void WeightStore::destroy(WeightStore* store) { delete store; }

WeightStore::WeightStore() {
  provider_.context = this;
  provider_.look_up = look_up;
  provider_.reserve_space = reserve_space;
  provider_.look_up_or_insert = look_up_or_insert;
  provider_.is_finalized = is_finalized;
  provider_.offset_to_addr = offset_to_addr;
  provider_.delete_cache = delete_cache;
}

WeightStore::~WeightStore() {
  drop_reserved();
  for (Block* block : buckets_) {
    while (block != nullptr) {
      Block* next = block->next;
      std::free(block);
      block = next;
    }
  }
}

WeightStore::Packing::Packing(WeightStore* store, const PackingTag& tag) : store_(store) {
  store_->mutex_.lock();
  store_->tag_ = tag;
  bytes_before_ = store_->bytes_;
}

WeightStore::Packing::~Packing() {
  store_->drop_reserved();
  store_->mutex_.unlock();
}

void* WeightStore::Packing::find(const void* kernel, const void* bias) const {
  Block* block = store_->find({store_->tag_, 0, kernel, bias});
  return block == nullptr ? nullptr : block->data();
}

void* WeightStore::Packing::insert(const void* kernel, const void* bias, size_t bytes) {
  Block* block = store_->allocate(bytes);
  if (block == nullptr) return nullptr;
  std::memset(block->data(), 0, bytes);
  store_->add(block, {store_->tag_, 0, kernel, bias});
  return block->data();
}

size_t WeightStore::bytes() {
  std::lock_guard<std::mutex> lock(mutex_);
  return bytes_;
}

WeightKey WeightStore::key_of(const xnn_weights_cache_look_up_key* key) const {
  return {tag_, key->seed, key->kernel, key->bias};
}

WeightStore::Block* WeightStore::find(const WeightKey& key) const {
  for (Block* b = buckets_[bucket_of(key, kBuckets)]; b != nullptr; b = b->next) {
    if (b->key == key) return b;
  }
  return nullptr;
}

WeightStore::Block* WeightStore::allocate(size_t bytes) {
  // One line more than asked: micro-kernels may read past the end of packed weights.
  const size_t total = rounded_up(sizeof(Block)) + rounded_up(bytes) + kBlockAlignment;
  if (total < bytes) return nullptr;
  auto* block = static_cast<Block*>(std::aligned_alloc(kBlockAlignment, total));
  if (block == nullptr) return nullptr;
  new (block) Block{{}, bytes, nullptr};
  return block;
}

void WeightStore::add(Block* block, const WeightKey& key) {
  Block** bucket = &buckets_[bucket_of(key, kBuckets)];
  block->key = key;
  block->next = *bucket;
  *bucket = block;
  bytes_ += block->bytes;
}

void WeightStore::drop_reserved() {
  std::free(reserved_);
  reserved_ = nullptr;
}

// XNNPACK's side. Its "offset" is opaque to it: we use the address itself, so nothing ever moves.

size_t WeightStore::look_up(void* context, const xnn_weights_cache_look_up_key* key) {
  auto* store = static_cast<WeightStore*>(context);
  Block* block = store->find(store->key_of(key));
  return block == nullptr ? kNotFound : reinterpret_cast<size_t>(block->data());
}

void* WeightStore::reserve_space(void* context, size_t bytes) {
  auto* store = static_cast<WeightStore*>(context);
  store->drop_reserved();
  store->reserved_ = store->allocate(bytes);
  return store->reserved_ == nullptr ? nullptr : store->reserved_->data();
}

size_t WeightStore::look_up_or_insert(void* context, const xnn_weights_cache_look_up_key* key,
                                      void* data, size_t /*bytes*/) {
  auto* store = static_cast<WeightStore*>(context);
  if (Block* block = store->find(store->key_of(key))) {
    if (store->reserved_ != nullptr && data == store->reserved_->data()) store->drop_reserved();
    return reinterpret_cast<size_t>(block->data());
  }
  if (store->reserved_ == nullptr || data != store->reserved_->data()) return kNotFound;
  Block* block = store->reserved_;
  store->reserved_ = nullptr;
  store->add(block, store->key_of(key));
  return reinterpret_cast<size_t>(block->data());
}

// "Finalized" only means here that operators may be set up, which is always so.
bool WeightStore::is_finalized(void*) { return true; }
void* WeightStore::offset_to_addr(void*, size_t offset) { return reinterpret_cast<void*>(offset); }
xnn_status WeightStore::delete_cache(void*) { return xnn_status_success; }

}  // namespace lazyrt
