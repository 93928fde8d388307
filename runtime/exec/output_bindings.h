#pragma once

// The caller's memory that outputs are written to, whatever the sizes of the inputs.

#include "runtime/core/pool.h"
#include "runtime/exec/placement.h"
#include "runtime/exec/services.h"

namespace lazyrt {

/// The caller's memory for one output.
struct OutputBinding {
  uint8_t* data = nullptr;  ///< nullptr: the session's own memory
  size_t writable = 0;      ///< bytes at data
  uint8_t space = kHostSpace;

  bool is_bound() const { return data != nullptr; }
  /// Whether kernels may write `bytes` there: aligned, with a tail.
  bool takes_in_place(size_t bytes) const {
    return reinterpret_cast<uintptr_t>(data) % kAlignment == 0 && writable >= bytes &&
           writable - bytes >= kTailBytes;
  }
};

/// Bound outputs share no byte, so their addresses order them: a search tree keeps that order, in
/// memory that is allocated from the start.
class OutputBindings {
 public:
  /// REQUIRES: called once, first; `pool`, which says afterwards whether memory was short, outlives
  /// this.
  void make(size_t outputs, Pool* pool) {
    bindings_ = pool->make<OutputBinding>(outputs);
    links_ = pool->make<Link>(outputs);
  }
  size_t size() const { return bindings_.size(); }
  const OutputBinding& operator[](size_t i) const { return bindings_[i]; }
  /// How many are bound.
  size_t count() const { return count_; }
  /// Another one after each change.
  uint64_t version() const { return version_; }

  /// REQUIRES: i < size(); overlapped() found no other one.
  void set(size_t i, const OutputBinding& binding);
  /// The first output that is bound to some of these bytes, or size().
  size_t overlapped(const OutputBinding& binding) const;
  /// Whether an output is bound to some of these bytes.
  bool overlap(const OutputBinding& bytes) const;

 private:
  static constexpr uint32_t kNone = UINT32_MAX;
  /// A node of a treap: in order of addresses from left to right, with the highest rank_of() at the
  /// root. An output that is not bound, or has no bytes, is not in it.
  struct Link {
    uint32_t left = kNone;
    uint32_t right = kNone;
  };

  bool touches(size_t i, const OutputBinding& bytes) const;
  /// The side of a node to which these bytes belong.
  uint32_t* side_of(uint32_t node, const OutputBinding& bytes) const;
  void add(uint32_t i);
  void remove(uint32_t i);

  Span<OutputBinding> bindings_;  ///< per output
  Span<Link> links_;              ///< per output
  uint32_t root_ = kNone;
  size_t count_ = 0;
  uint64_t version_ = 0;
};

/// Whether two runs of bytes share one.
inline bool overlap(const void* a, uint64_t a_bytes, const void* b, uint64_t b_bytes) {
  const auto x = reinterpret_cast<uintptr_t>(a);
  const auto y = reinterpret_cast<uintptr_t>(b);
  return x < y ? y - x < a_bytes : x - y < b_bytes;
}

}  // namespace lazyrt
