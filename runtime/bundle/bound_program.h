#pragma once

#include "runtime/bundle/program_state.h"

namespace lazyrt {

/// A program whose method is bound to other sizes than those in the file: a copy of the metadata
/// with other extents, attributes and places, verified as any bundle is. It shares constants, ops
/// and limits with the program that it is made of, and must not outlive it.
class BoundProgram {
 public:
  BoundProgram() = default;
  BoundProgram(const BoundProgram&) = delete;
  BoundProgram& operator=(const BoundProgram&) = delete;
  ~BoundProgram();

  /// `symbols`: a value for each symbol of the method. kInvalidArgument: "'seq' is 600, allowed are
  /// 1 to 512". kInvalidBundle, kUnsupported, kOutOfMemory, kLimitExceeded: the method cannot run
  /// at these sizes, and says at which node and why. Takes time in proportion to the metadata;
  /// keeps a copy of it in memory from `memory`. REQUIRES: empty; `base` was verified.
  Status make(const ProgramState& base, size_t method, Span<const int64_t> symbols,
              const Allocator& memory);

  /// Only the method that it was made for is of use. REQUIRES: make() was ok.
  const ProgramState& state() const { return state_; }

 private:
  ProgramState state_;
  uint8_t* metadata_ = nullptr;
  Allocator memory_;
};

/// Binds each method with symbols at its smallest and at its largest sizes, and forgets what it
/// made: what is refused later has other reasons than limits.
Status check_bounds(const ProgramState& program, const Allocator& memory);

/// The largest values of the method's symbols, or the smallest. REQUIRES: kBundleMaxSymbols of
/// them.
void find_bounds(const fb::Method& method, bool largest, int64_t* symbols);

/// The values of the method's symbols in its file. REQUIRES: kBundleMaxSymbols of them.
void read_file_sizes(const fb::Method& method, int64_t* symbols);

}  // namespace lazyrt
