#pragma once

// A session's Watch, as its variants and run loop use it. All code that takes time is in
// watcher.cpp.

#include "lazyrt/watch.h"
#include "runtime/backend/backend.h"
#include "runtime/bundle/program_state.h"
#include "runtime/core/pool.h"
#include "runtime/exec/plan.h"

namespace lazyrt {

/// False: sessions refuse a Watch, and the code for it is left out of the program
/// (LAZYRT_WATCH=OFF).
#ifdef LAZYRT_NO_WATCH
constexpr bool kCanWatch = false;
#else
constexpr bool kCanWatch = true;
#endif

/// Reports the time from its construction to its end as a span; does nothing without a watch.
class WatchedSpan {
 public:
  WatchedSpan(const Watch* watch, RunSpan::Kind kind)
      : watch_(kCanWatch && watch != nullptr && watch->span != nullptr ? watch : nullptr) {
    span_.kind = kind;
    if (watch_ != nullptr) span_.begin = platform_ticks();
  }
  /// Reports the span with its status to the watch; returns the status.
  Fault end(Fault fault) { return !kCanWatch || watch_ == nullptr ? fault : tell(fault); }

 private:
  Fault tell(Fault fault);

  const Watch* watch_;
  RunSpan span_;
};

/// The watch of one variant.
class Watcher {
 public:
  Watcher() = default;
  Watcher(const Watcher&) = delete;
  Watcher& operator=(const Watcher&) = delete;

  /// Asks the watch which values are tapped. `variant`: its number in the method; `texts`: the
  /// variant in the file. REQUIRES: called once; all arguments but `ops` outlive this; `watch` is
  /// not nullptr.
  Fault make(const Watch* watch, size_t variant, const fb::Method& texts, const OpTable& ops,
             Pool* pool);
  bool is_active() const { return kCanWatch && watch_ != nullptr; }
  bool has_spans() const { return is_active() && watch_->span != nullptr; }
  /// Per node: whether a result of it is tapped. Empty: none is.
  Span<const bool> tapped_nodes() const { return tapped_; }
  bool taps(size_t node) const { return kCanWatch && !tapped_.empty() && tapped_[node]; }

  /// Takes the memory for copies from devices. REQUIRES: called once, after make.
  Fault make_copies(const Plan& plan, Span<const TensorView> operands);
  /// Hands out the tapped results of a node that ran. `slot`: the device that ran it; nullptr: the
  /// host. REQUIRES: taps(node).
  Fault take(const Plan& plan, size_t node, Span<const TensorView> operands,
             const BackendServices::Slot* slot) const;
  void tell(const RunSpan& span) const { watch_->span(watch_->context, span); }

 private:
  /// A point that is tapped.
  struct Tap {
    uint32_t node = 0;
    uint32_t result = 0;
    uint32_t value = 0;
    uint32_t repeat = 0;
  };
  bool number_modules(Pool* memory, Span<uint32_t>* modules) const;
  Fault count_repeats(Pool* memory, Span<uint32_t>* repeats) const;
  template <class Fn>
  Fault for_each_point(Pool* memory, const Fn& fn) const;
  TapPoint point_of(const Tap& tap) const;

  const Watch* watch_ = nullptr;
  const fb::Method* texts_ = nullptr;
  const OpTable* ops_ = nullptr;
  size_t variant_ = 0;
  Pool* pool_ = nullptr;
  Span<Tap> points_;    ///< those tapped, in order of execution
  Span<bool> tapped_;   ///< per node; empty: nothing is tapped
  Span<uint8_t> copy_;  ///< room for a device's largest tapped value
};

}  // namespace lazyrt
