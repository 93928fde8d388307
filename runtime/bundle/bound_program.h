#pragma once

#include "runtime/bundle/program_state.h"

namespace lazyrt {

/// A program whose method is bound to other sizes than those in the file: a copy of the metadata
/// with other extents, attributes and places of the variants that take these sizes, which are
/// verified as any bundle's are. It shares constants, ops and limits with the program that it is
/// made of, and must not outlive it.
class BoundProgram {
 public:
  BoundProgram() = default;
  BoundProgram(const BoundProgram&) = delete;
  BoundProgram& operator=(const BoundProgram&) = delete;
  ~BoundProgram();

  /// `symbols`: a value for each symbol of the method. kInvalidArgument: as check_sizes.
  /// kInvalidBundle, kUnsupported, kOutOfMemory, kLimitExceeded: the method cannot run
  /// at these sizes, and says at which node and why. Takes time in proportion to the variants that
  /// take the sizes, and keeps a copy of all metadata in memory from `memory`. REQUIRES: empty;
  /// `base` was verified.
  Fault make(const ProgramState& base, size_t method, Span<const int64_t> symbols,
             const Allocator& memory);

  /// Only the method that it was made for is of use, and its variants that take the sizes.
  /// REQUIRES: make() was ok.
  const ProgramState& state() const { return state_; }

 private:
  Fault bind(const ProgramState& base, size_t method, Span<const int64_t> symbols);

  ProgramState state_;
  uint8_t* metadata_ = nullptr;
  Allocator memory_;
};

/// Binds each method with symbols at the smallest and at the largest sizes of each of its variants,
/// and forgets what it made: what is refused later has other reasons than limits. kInvalidBundle:
/// there are more than kBundleMaxSizedMethods of them, or they overlap so that more than twice as
/// many would be bound (as a verifier's time is to be in proportion to the file).
Fault check_bounds(const ProgramState& program, const Allocator& memory);

}  // namespace lazyrt
