#pragma once

// Packed constants of one Program, shared by its sessions. Also serves as XNNPACK's weights cache:
// XNNPACK's own never finds anything, must be finalized first, and moves its content.

#if LAZYRT_HAS_XNNPACK
#include <xnnpack.h>
#endif

#include <cstddef>
#include <cstdint>

#include "lazyrt/shape.h"
#include "runtime/core/counted_memory.h"
#include "runtime/core/fault.h"
#include "runtime/platform/threads.h"

namespace lazyrt {

/// Which code packed a block. Only that code reads it again, since two packers may pack the same
/// constant.
enum class Packer : uint32_t {
  kRowPanels,        ///< GemmPanels of a matrix [columns][k]
  kTransposePanels,  ///< GemmPanels of one row of a transposed convolution's kernel
  kRecurrent,        ///< panels of VectorOps::gemv
  kWinograd,
  kXnnFullyConnected,
  kXnnConvolution,
  kXnnDeconvolution,
};

/// Everything besides the constants that determines a packed layout: the packer, the shape of the
/// weights and the attributes that matter. XNNPACK's seeds do not distinguish these (a linear [O,K]
/// and a linear [K,O] have one seed, and a seed may be 0), and a block of the wrong layout would be
/// read beyond its end.
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

/// Limits of packed copies. All of one Program's constants together: each constant may be packed
/// for several ops, but not again for each of many. A single packing: no more than what padding
/// adds to an honest one. What exceeds these limits is not packed: another kernel runs the node.
constexpr uint64_t kPackedSlack = uint64_t{64} << 20, kPackedFactor = 4;
constexpr uint64_t kPackingSlack = uint64_t{4} << 20, kPackingFactor = 8;

/// Blocks never move and live as long as the store. Threads: packing takes the store's lock;
/// reading packed bytes needs none.
class WeightStore {
 public:
  /// Makes a store for constants of this many bytes in all. nullptr if memory is short. `allocator`
  /// is called under the store's lock and must outlive the store.
  static WeightStore* create(const Allocator& allocator, uint64_t constant_bytes);
  static void destroy(WeightStore* store);
  /// Most bytes that such a store takes.
  static uint64_t most_bytes(uint64_t constant_bytes);

  /// Held while operators are created or blocks are packed. `tag` becomes part of every key.
  class Packing {
   public:
    /// `source_bytes`: bytes of the constants that are packed; XNNPACK finds and makes no smaller
    /// block. `memory`: counts what is new and notes why it was refused; may be null.
    Packing(WeightStore* store, const PackingTag& tag, size_t source_bytes, CountedMemory* memory);
    ~Packing();
    Packing(const Packing&) = delete;
    Packing& operator=(const Packing&) = delete;

#if LAZYRT_HAS_XNNPACK
    /// To be passed to xnn_create_*. Valid as long as the store.
    xnn_weights_cache_t cache() { return &store_->provider_; }
#endif
    /// The block of (tag, kernel, bias) that has exactly these bytes, or nullptr.
    void* find(const void* kernel, const void* bias, size_t bytes) const;
    /// A new zeroed block of (tag, kernel, bias), aligned to 64 bytes, to be filled while this
    /// Packing is held; nullptr when memory is short or the packing takes more than it may.
    void* insert(const void* kernel, const void* bias, size_t bytes);
    /// Bytes packed since this Packing was made; what was found again does not count.
    size_t new_bytes() const { return store_->bytes_ - bytes_before_; }

   private:
    WeightStore* store_;
    size_t bytes_before_;
  };

  /// Bytes of all blocks.
  size_t bytes();
  /// All memory that the store holds.
  uint64_t held_bytes();
  /// How many blocks all finds so far have looked at: a few for each find, however many there are.
  uint64_t probes();

 private:
  struct Block;

  WeightStore(const Allocator& allocator, uint64_t most_bytes);
  ~WeightStore();

#if LAZYRT_HAS_XNNPACK
  static size_t look_up(void* context, const xnn_weights_cache_look_up_key* key);
  static void* reserve_space(void* context, size_t bytes);
  static size_t look_up_or_insert(void* context, const xnn_weights_cache_look_up_key* key,
                                  void* data, size_t bytes);
  static bool is_finalized(void* context);
  static void* offset_to_addr(void* context, size_t offset);
  static xnn_status delete_cache(void* context);

  WeightKey key_of(const xnn_weights_cache_look_up_key* key) const;
#endif
  /// The block of this key that has `least` to `most` bytes, or nullptr.
  Block* find(const WeightKey& key, size_t least, size_t most) const;
  Block* allocate(size_t bytes);
  static size_t block_bytes(size_t bytes);
  bool admit(uint64_t bytes);
  /// False, and nothing is added: no memory.
  bool add(Block* block, const WeightKey& key);
  bool has_place() const { return count_ < bucket_count_; }
  bool grow();
  void release(Block* block);

#if LAZYRT_HAS_XNNPACK
  xnn_weights_cache_provider provider_ = {};
  Block* reserved_ = nullptr;  // given to XNNPACK, not yet inserted
#endif
  const Allocator allocator_;
  const uint64_t most_bytes_;
  uint64_t held_bytes_ = 0;
  Mutex mutex_;
  PackingTag tag_;           // of the Packing that holds mutex_
  size_t source_bytes_ = 0;  // likewise
  CountedMemory* memory_ = nullptr;
  size_t bytes_ = 0;
  mutable uint64_t probes_ = 0;
  size_t count_ = 0;
  size_t bucket_count_ = 0;  // a power of two, at least count_
  Block** buckets_ = nullptr;
};

}  // namespace lazyrt
