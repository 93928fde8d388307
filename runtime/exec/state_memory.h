#pragma once

#include <array>

#include "runtime/bundle/program_state.h"
#include "runtime/core/pool.h"
#include "runtime/core/profile.h"
#include "runtime/exec/block.h"
#include "runtime/exec/device_memory.h"
#include "runtime/exec/plan.h"
#include "runtime/exec/shared_memory.h"
#include "runtime/platform/threads.h"

namespace lazyrt {

/// The states of a session: they keep their place and their content whatever the sizes of the
/// inputs. Each has a place in every space that asks for one, and on the host once something there
/// wants it; it goes to where a run wants it, and to the host when somebody looks at it.
class StateMemory {
 public:
  /// `method`: its number in the program. REQUIRES: `services` and `pool` outlive this.
  StateMemory(const ProgramState& program, size_t method, const BackendServices* services,
              Pool* pool);
  StateMemory(const StateMemory&) = delete;
  StateMemory& operator=(const StateMemory&) = delete;

  /// Bytes of all of them; saturates.
  uint64_t bytes() const { return bytes_; }
  /// Lists them, at the first call; each has its first content.
  Fault make();
  /// Takes memory on the host, at its first call. REQUIRES: make() was ok.
  Fault make_on_host();
  /// Takes the memory in a device's space, at its first call for that slot. Where the host has it,
  /// too, it is that of both.
  Fault make_in(int slot, CountedMemory* counted);
  bool is_made() const { return !tables_.empty(); }
  size_t count() const { return tables_.size(); }
  /// False: the content of all has been on the host alone so far.
  bool were_elsewhere() const { return were_elsewhere_; }
  /// In spaces of devices, and what the host has beside them. From any thread.
  uint64_t device_bytes() const { return read_counter(device_bytes_); }
  uint64_t host_bytes() const { return read_counter(host_bytes_); }
  /// Gives each its first content. REQUIRES: make() was ok.
  void reset();
  /// Gives it this content. kInvalidArgument: there is no state i, or it has another dtype or
  /// shape.
  Fault set(size_t i, const TensorView& tensor);

  /// All of them on the host; nullptr: nothing wanted them there yet.
  uint8_t* on_host() const { return on_host_; }
  /// Per state: its place behind on_host(), and behind block_in() of each slot.
  Span<const uint64_t> offsets() const { return {offsets_.data(), offsets_.size()}; }
  /// All of them in the slot's space; nullptr: make_in was not called.
  const DeviceBlock& block_in(int slot) const { return device_blocks_[slot]; }
  /// State k where it is in a space.
  uint8_t* place_in(size_t k, int space) const {
    uint8_t* base = space == kHostSpace ? on_host_ : device_blocks_[slot_of_space(space)].data();
    return place_at(base, offsets_[k]);
  }

  /// Its content is in that space from now on, and may be still where it was.
  Fault bring(size_t k, int space);
  /// After a run that failed: what bring() has queued may never arrive.
  void forget_brought();
  /// Its content changed in that space, and is nowhere else.
  void changed(size_t k, int space);
  /// Its content on the host. kInvalidArgument where there is no state i.
  Result<TensorView> view(size_t i);

 private:
  struct Table {
    TensorView view;                ///< without data
    const void* initial = nullptr;  ///< nullptr: zeros
    uint8_t space = kHostSpace;     ///< the last space that has the content
    bool is_on_host = false;        ///< the host has it, too
    bool is_first = true;           ///< it is the first one, and nowhere yet
    bool is_brought = false;  ///< what `space` has is a copy of what the host has or of the first
  };

  const fb::State& state(size_t k) const { return state_at(method_, k); }
  const fb::Value& value(int32_t id) const { return value_at(method_, id); }
  Fault check_index(size_t i) const;
  void begin_on_host(size_t k);
  Fault bring_to_host(size_t k);

  const ProgramState& program_;
  const fb::Method& method_;
  const BackendServices* const services_;
  Pool* const pool_;
  uint64_t bytes_ = 0;
  uint64_t device_bytes_ = 0;  ///< atomic
  uint64_t host_bytes_ = 0;    ///< atomic
  Block block_{};
  uint8_t* on_host_ = nullptr;
  bool were_elsewhere_ = false;
  uint8_t mapped_ = kHostSpace;  ///< the space whose memory the host has
  std::array<DeviceBlock, kDeviceSlots> device_blocks_;
  Span<uint64_t> offsets_;  ///< per state
  Span<Table> tables_;      ///< per state
};

}  // namespace lazyrt
