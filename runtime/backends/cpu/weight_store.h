#pragma once

// Packed constants of one Program, shared by its sessions: XNNPACK's weights cache, written anew
// because the built-in one never finds anything, must be finalized first, and moves what it holds.

#include <xnnpack.h>

#include <cstddef>
#include <cstdint>
#include <mutex>

#include "lazyrt/error.h"

namespace lazyrt {

/// What a packed block was made of. `tag` tells apart the ops and layouts whose XNNPACK seeds collide.
struct WeightKey {
  uint64_t tag = 0;
  uint32_t seed = 0;
  const void* kernel = nullptr;
  const void* bias = nullptr;

  bool operator==(const WeightKey& o) const {
    return tag == o.tag && seed == o.seed && kernel == o.kernel && bias == o.bias;
  }
};

/// Blocks never move and live until the store goes. Threads: packing takes the store's lock; reading
/// packed bytes needs none.
class WeightStore {
 public:
  /// nullptr when memory is short.
  static WeightStore* create();
  static void destroy(WeightStore* store);

  /// Held while operators are created or blocks packed. `tag` becomes part of every key.
  class Packing {
   public:
    Packing(WeightStore* store, uint64_t tag);
    ~Packing();
    Packing(const Packing&) = delete;
    Packing& operator=(const Packing&) = delete;

    /// To be passed to xnn_create_*. Valid as long as the store.
    xnn_weights_cache_t cache() { return &store_->provider_; }
    /// The block of (tag, kernel, bias), or nullptr.
    void* find(const void* kernel, const void* bias) const;
    /// A new zeroed block of (tag, kernel, bias), aligned to 64 bytes, to be filled while this Packing
    /// is held; nullptr when memory is short.
    void* insert(const void* kernel, const void* bias, size_t bytes);
    /// Bytes packed since this Packing was made; what was found again does not count.
    size_t new_bytes() const { return store_->bytes_ - bytes_before_; }

   private:
    WeightStore* store_;
    size_t bytes_before_;
  };

  /// Bytes of all blocks.
  size_t bytes();

 private:
  struct Block;
  static constexpr size_t kBuckets = 256;

  WeightStore();
  ~WeightStore();

  static size_t look_up(void* context, const xnn_weights_cache_look_up_key* key);
  static void* reserve_space(void* context, size_t bytes);
  static size_t look_up_or_insert(void* context, const xnn_weights_cache_look_up_key* key, void* data,
                                  size_t bytes);
  static bool is_finalized(void* context);
  static void* offset_to_addr(void* context, size_t offset);
  static xnn_status delete_cache(void* context);

  WeightKey key_of(const xnn_weights_cache_look_up_key* key) const;
  Block* find(const WeightKey& key) const;
  Block* allocate(size_t bytes);
  void add(Block* block, const WeightKey& key);
  void drop_reserved();

  xnn_weights_cache_provider provider_ = {};
  std::mutex mutex_;
  uint64_t tag_ = 0;            // of the Packing that holds mutex_
  Block* reserved_ = nullptr;   // given to XNNPACK, not yet inserted
  size_t bytes_ = 0;
  Block* buckets_[kBuckets] = {};
};

}  // namespace lazyrt
