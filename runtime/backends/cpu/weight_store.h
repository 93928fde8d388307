#pragma once

// Packed constants of one Program, shared by its sessions: XNNPACK's weights cache, written anew
// because the built-in one never finds anything, must be finalized first, and moves what it holds.

#include <xnnpack.h>

#include <cstddef>
#include <cstdint>
#include <mutex>

#include "lazyrt/error.h"
#include "lazyrt/shape.h"

namespace lazyrt {

/// All that a packed layout depends on besides the constants: the op, the shape of its weights and
/// its attributes. XNNPACK's seeds do not tell these apart (a linear [O,K] and a linear [K,O] have
/// one seed), and a block of the wrong layout would be read beyond its end.
struct PackingTag {
  static constexpr int kMaxValues = 20;

  uint64_t op = 0;
  int count = 0;
  int64_t values[kMaxValues] = {};

  /// REQUIRES: fewer than kMaxValues values so far.
  PackingTag& add(int64_t value) {
    values[count++] = value;
    return *this;
  }
  PackingTag& add(const Shape& shape) {
    for (int64_t d : shape) add(d);
    return *this;
  }
  bool operator==(const PackingTag& o) const {
    if (op != o.op || count != o.count) return false;
    for (int i = 0; i < count; ++i) {
      if (values[i] != o.values[i]) return false;
    }
    return true;
  }
};

/// What a packed block was made of.
struct WeightKey {
  PackingTag tag;
  uint32_t seed = 0;
  const void* kernel = nullptr;
  const void* bias = nullptr;

  bool operator==(const WeightKey& o) const {
    return kernel == o.kernel && bias == o.bias && seed == o.seed && tag == o.tag;
  }
};

/// Blocks never move and live until the store goes. Threads: packing takes the store's lock;
/// reading packed bytes needs none.
class WeightStore {
 public:
  /// nullptr when memory is short.
  static WeightStore* create();
  static void destroy(WeightStore* store);

  /// Held while operators are created or blocks packed. `tag` becomes part of every key.
  class Packing {
   public:
    Packing(WeightStore* store, const PackingTag& tag);
    ~Packing();
    Packing(const Packing&) = delete;
    Packing& operator=(const Packing&) = delete;

    /// To be passed to xnn_create_*. Valid as long as the store.
    xnn_weights_cache_t cache() { return &store_->provider_; }
    /// The block of (tag, kernel, bias), or nullptr.
    void* find(const void* kernel, const void* bias) const;
    /// A new zeroed block of (tag, kernel, bias), aligned to 64 bytes, to be filled while this
    /// Packing is held; nullptr when memory is short.
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
  static size_t look_up_or_insert(void* context, const xnn_weights_cache_look_up_key* key,
                                  void* data, size_t bytes);
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
  PackingTag tag_;             // of the Packing that holds mutex_
  Block* reserved_ = nullptr;  // given to XNNPACK, not yet inserted
  size_t bytes_ = 0;
  Block* buckets_[kBuckets] = {};
};

}  // namespace lazyrt
