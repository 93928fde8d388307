#pragma once

#include "runtime/bundle/program_state.h"
#include "runtime/core/run_stop.h"

namespace lazyrt {

struct Governor;  // method_check.h

/// A program whose method is bound to other sizes than those in the file. It has a copy of the
/// metadata, in which the variants that take these sizes have other extents, attributes and places,
/// and which is verified like any bundle's metadata. It shares constants, ops and limits with the
/// program that it is made from, and must not outlive it.
class BoundProgram {
 public:
  BoundProgram() = default;
  BoundProgram(const BoundProgram&) = delete;
  BoundProgram& operator=(const BoundProgram&) = delete;
  ~BoundProgram();

  /// Copies all metadata into memory from `memory`. REQUIRES: called once; `base` was verified and
  /// outlives this.
  Fault make(const ProgramState& base, const Allocator& memory);

  /// Binds one method, after undoing what the last call bound. `symbols`: a value for each symbol
  /// of the method. `stop`: nullptr, or what ends the run that this is part of. kInvalidArgument:
  /// as check_sizes. kInvalidBundle, kUnsupported, kOutOfMemory, kLimitExceeded: the method cannot
  /// run at these sizes; the message says at which node and why. The work of all variants that take
  /// the sizes counts together. kCancelled, kDeadlineExceeded: the stop is due. Takes time in
  /// proportion to the variants that take the sizes, now and in the last call. REQUIRES: make() was
  /// ok.
  Fault bind(size_t method, Span<const int64_t> symbols, const RunStop* stop);

  /// Only the bound method may be used, and only its variants that take the sizes. REQUIRES: the
  /// last bind() was ok.
  const ProgramState& state() const { return state_; }

 private:
  enum class Stage : uint8_t { kRestore, kWrite, kVerify };
  Fault for_each_variant(Stage stage, const Governor& governor);

  const ProgramState* base_ = nullptr;
  ProgramState state_;
  uint8_t* metadata_ = nullptr;
  Allocator memory_;
  bool is_bound_ = false;
  size_t method_ = 0;  ///< that is bound, and its sizes
  int64_t symbols_[kBundleMaxSymbols] = {};
};

/// Binds each method with symbols at the smallest and at the largest sizes of each of its variants,
/// and forgets what it made: what is refused later has other reasons than limits. kInvalidBundle:
/// there are more than kBundleMaxSizedMethods of them, or they overlap so that more than twice as
/// many would be bound (as a verifier's time is to be in proportion to the file).
Fault check_bounds(const ProgramState& program, const Allocator& memory);

}  // namespace lazyrt
