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

/// Who lays out a block. Only the same packer reads it again: two of them may pack one constant.
enum class Packer : uint32_t {
  kRowPanels,        ///< GemmPanels of a matrix [columns][k]
  kTransposePanels,  ///< GemmPanels of one row of a transposed convolution's kernel
  kRecurrent,        ///< panels of VectorOps::gemv
  kWinograd,
  kXnnFullyConnected,
  kXnnConvolution,
  kXnnDeconvolution,
};

/// All that a packed layout depends on besides the constants: who packed, the shape of the weights
/// and the attributes that count. XNNPACK's seeds do not tell these apart (a linear [O,K] and a
/// linear [K,O] have one seed, and a seed may be 0), and a block of the wrong layout would be read
/// beyond its end.
struct PackingTag {
  static constexpr int kMaxValues = 20;

  Packer packer = Packer::kRowPanels;
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
    if (packer != o.packer || count != o.count) return false;
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
  /// Of all its parts.
  uint64_t hash() const;
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

    /// XNNPACK finds and makes no block that is smaller.
    void expect(size_t least_bytes) { store_->least_bytes_ = least_bytes; }
    /// To be passed to xnn_create_*. Valid as long as the store.
    xnn_weights_cache_t cache() { return &store_->provider_; }
    /// The block of (tag, kernel, bias) that has exactly these bytes, or nullptr.
    void* find(const void* kernel, const void* bias, size_t bytes) const;
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
  /// Blocks that all finds so far have looked at: a few for each find, however many there are.
  uint64_t probes();

 private:
  struct Block;

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
  /// The block of this key that has `least` to `most` bytes, or nullptr.
  Block* find(const WeightKey& key, size_t least, size_t most) const;
  Block* allocate(size_t bytes);
  /// False, and nothing is added: no memory.
  bool add(Block* block, const WeightKey& key);
  bool grow();
  void release(Block* block);

  xnn_weights_cache_provider provider_ = {};
  std::mutex mutex_;
  PackingTag tag_;             // of the Packing that holds mutex_
  size_t least_bytes_ = 0;     // likewise
  Block* reserved_ = nullptr;  // given to XNNPACK, not yet inserted
  size_t bytes_ = 0;
  mutable uint64_t probes_ = 0;
  size_t count_ = 0;
  size_t bucket_count_ = 0;  // a power of two, at least count_
  Block** buckets_ = nullptr;
};

}  // namespace lazyrt
