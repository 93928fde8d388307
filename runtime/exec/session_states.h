#pragma once

#include <array>

#include "runtime/bundle/program_state.h"
#include "runtime/core/pool.h"
#include "runtime/core/profile.h"
#include "runtime/exec/block.h"
#include "runtime/exec/device_memory.h"
#include "runtime/exec/plan.h"
#include "runtime/platform/threads.h"

namespace lazyrt {

/// The states of a session: they keep their place and their content whatever the sizes of the
/// inputs. Each has a place on the host and one in every space of a device that asks for it; it
/// goes to where a run wants it, and to the host when somebody looks at it.
class SessionStates {
 public:
  /// `method`: its number in the program. REQUIRES: `services` and `pool` outlive this.
  SessionStates(const ProgramState& program, size_t method, const BackendServices* services,
                Pool* pool);
  SessionStates(const SessionStates&) = delete;
  SessionStates& operator=(const SessionStates&) = delete;

  /// Bytes of all of them; saturates.
  uint64_t bytes() const { return bytes_; }
  /// Takes the memory, at the first call.
  Fault make();
  /// Takes the memory in a device's space, at its first call for that slot.
  Fault make_in(int slot, CountedMemory* counted);
  bool is_made() const { return !places_.empty(); }
  size_t count() const { return places_.size(); }
  /// In spaces of devices. From any thread.
  uint64_t device_bytes() const { return read_counter(device_bytes_); }
  /// Gives each its first content. REQUIRES: make() was ok.
  void reset();
  /// Gives it this content. kInvalidArgument: there is no state i, or it has another dtype or
  /// shape.
  Fault set(size_t i, const TensorView& tensor);

  /// On the host, per state.
  Span<uint8_t* const> places() const { return places_; }
  const Block& block() const { return block_; }
  /// All of them in the slot's space, at the distances that they have on the host; nullptr: make_in
  /// was not called.
  const DeviceBlock& block_in(int slot) const { return device_blocks_[slot]; }
  /// State k where it is in a space.
  uint8_t* place_in(size_t k, int space) const {
    if (space == kHostSpace) return places_[k];
    return device_blocks_[slot_of_space(space)].data() + (places_[k] - block_.data());
  }

  /// Its content is in that space from now on, and may be still where it was.
  Fault bring(size_t k, int space);
  /// Its content changed in that space, and is nowhere else.
  void changed(size_t k, int space);
  /// Its content on the host. kInvalidArgument where there is no state i.
  Result<TensorView> view(size_t i);

 private:
  struct Table {
    TensorView view;
    const void* initial = nullptr;  ///< nullptr: zeros
    uint8_t space = kHostSpace;     ///< the last space that has the content
    bool is_on_host = true;         ///< the host has it, too
  };

  const fb::State& state(size_t k) const { return state_at(method_, k); }
  const fb::Value& value(int32_t id) const { return value_at(method_, id); }
  Fault check_index(size_t i) const;
  Fault bring_to_host(size_t k);

  const ProgramState& program_;
  const fb::Method& method_;
  const BackendServices* const services_;
  Pool* const pool_;
  uint64_t bytes_ = 0;
  uint64_t device_bytes_ = 0;  ///< atomic
  Block block_{};
  std::array<DeviceBlock, kDeviceSlots> device_blocks_;
  Span<uint8_t*> places_;  ///< per state: where it is in block_
  Span<Table> tables_;     ///< per state
};

}  // namespace lazyrt
