#pragma once

#include <cstdint>
#include <type_traits>

#include "runtime/core/allocator.h"
#include "runtime/core/fault.h"
#include "runtime/core/profile.h"
#include "runtime/core/reserved_heap.h"
#include "runtime/platform/threads.h"

namespace lazyrt {

/// Memory from another allocator, counted against a limit before it is requested. Some of it may be
/// reserved in advance: pieces then come from the reserve while it has room. One thread at a time,
/// but for used() and beyond_reserve().
class CountedMemory {
 public:
  /// Why memory was refused last.
  enum class Refusal : uint8_t {
    kNone,   ///< nothing was refused, or the source had no memory
    kLimit,  ///< the limit
    kShare,  ///< the share of what is being made
  };

  CountedMemory(const Allocator& source, uint64_t limit) : source_(source), limit_(limit) {}
  CountedMemory(const CountedMemory&) = delete;
  CountedMemory& operator=(const CountedMemory&) = delete;
  ~CountedMemory();

  /// Returns an allocator of counted memory. Valid as long as this object; all of its memory must
  /// be released before.
  Allocator allocator();
  const Allocator& source() const { return source_; }

  /// Counts bytes that come from elsewhere; shares do not limit them. False: they exceed the limit.
  bool take(uint64_t bytes);
  /// REQUIRES: taken before.
  void give(uint64_t bytes) { set_used(used_ - bytes); }
  bool fits(uint64_t bytes) const { return bytes <= limit_ - used_; }

  /// Until end_share, the allocator's new pieces take no more than `bytes` at any time.
  void begin_share(uint64_t bytes) { share_left_ = bytes; }
  void end_share() { share_left_ = UINT64_MAX; }
  /// Notes that memory from elsewhere was refused because of its share.
  void refuse_share() { refusal_ = Refusal::kShare; }

  /// Begins to measure how large a reserve would have to be: the most that all pieces take at one
  /// time.
  void begin_peak() { peak_ = heap_used_; }
  uint64_t peak() const { return peak_; }
  /// What the pieces that are handed out now would take of a reserve.
  uint64_t heap_used() const { return heap_used_; }
  /// Takes this much from the source now, for pieces that are requested from now on. The reserve
  /// counts as used, those pieces do not. REQUIRES: called once.
  Fault reserve(uint64_t bytes);
  /// How often pieces were requested from the source since then, because the reserve had no room.
  uint64_t beyond_reserve() const { return read_counter(beyond_reserve_); }

  /// May be called from any thread.
  uint64_t used() const { return read_counter(used_); }
  uint64_t limit() const { return limit_; }
  Refusal refusal() const { return refusal_; }
  void forget_refusal() { refusal_ = Refusal::kNone; }

  /// If the status is a kOutOfMemory because of the limit, adds that and the option that raises it;
  /// other statuses stay.
  Fault explained(const Fault& status, const char* option) const;

 private:
  void* allocate(size_t bytes, size_t alignment);
  void release(void* pointer);
  bool admit(uint64_t bytes);
  void set_used(uint64_t bytes) { set_counter(&used_, bytes); }

  char* allocate_piece(size_t total, size_t alignment);

  const Allocator source_;
  const uint64_t limit_;
  uint64_t used_ = 0;  ///< atomic
  uint64_t share_left_ = UINT64_MAX;
  uint64_t refused_bytes_ = 0;
  Refusal refusal_ = Refusal::kNone;
  uint64_t heap_used_ = 0;
  uint64_t peak_ = 0;
  void* reserved_ = nullptr;
  std::conditional_t<kDynamicShapes, ReservedHeap, NoReservedHeap> heap_;
  uint64_t beyond_reserve_ = 0;  ///< atomic
};

}  // namespace lazyrt
