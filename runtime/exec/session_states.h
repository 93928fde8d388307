#pragma once

#include "runtime/bundle/program_state.h"
#include "runtime/core/array.h"
#include "runtime/exec/block.h"

namespace lazyrt {

/// The states of a session: they keep their place and their content whatever the sizes of the
/// inputs.
class SessionStates {
 public:
  /// `method`: its number in the program.
  SessionStates(const ProgramState& program, size_t method);
  SessionStates(const SessionStates&) = delete;
  SessionStates& operator=(const SessionStates&) = delete;

  /// Bytes of all of them; saturates.
  uint64_t bytes() const { return bytes_; }
  /// Takes the memory, at the first call.
  Status make(const Allocator& allocator);
  bool is_made() const { return places_.size() != 0; }
  /// Of what it keeps beside them.
  uint64_t plan_bytes() const { return places_.bytes() + tables_.bytes(); }
  /// Gives each its first content. REQUIRES: make() was ok.
  void reset();

  Span<uint8_t* const> places() const { return {places_.data(), places_.size()}; }
  const Block& block() const { return block_; }
  /// kInvalidArgument where there is no state i.
  Result<TensorView> view(size_t i) const;

 private:
  struct Table {
    TensorView view;
    const void* initial = nullptr;  ///< nullptr: zeros
  };

  const fb::State& state(size_t k) const {
    return *method_.states()->Get(static_cast<uint32_t>(k));
  }
  const fb::Value& value(int32_t id) const {
    return *method_.values()->Get(static_cast<uint32_t>(id));
  }

  const ProgramState& program_;
  const fb::Method& method_;
  uint64_t bytes_ = 0;
  Block block_;
  Array<uint8_t*> places_;  ///< per state: where it is in block_
  Array<Table> tables_;     ///< per state
};

}  // namespace lazyrt
