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

/// The states of a session. Their places and contents do not depend on the sizes of the inputs. A
/// state gets a place in every space that asks for one, and on the host as soon as something there
/// needs it; its content is copied to where a run needs it, and to the host when somebody reads it.
class StateMemory {
 public:
  /// `method`: its number in the program. REQUIRES: `services` and `pool` outlive this.
  StateMemory(const ProgramState& program, size_t method, const BackendServices* services,
              Pool* pool);
  StateMemory(const StateMemory&) = delete;
  StateMemory& operator=(const StateMemory&) = delete;

  /// Bytes of all of them; saturates.
  uint64_t bytes() const { return bytes_; }
  /// Lists the states at the first call; each then has its first content.
  Fault make();
  /// Takes the memory on the host at the first call. REQUIRES: make() was ok.
  Fault make_on_host();
  /// Takes the memory in a device's space, at the first call for that slot. If the host has that
  /// memory, too, both use it.
  Fault make_in(int slot, CountedMemory* counted);
  bool is_made() const { return !tables_.empty(); }
  size_t count() const { return tables_.size(); }
  /// False: so far the content of all states has been on the host only.
  bool were_elsewhere() const { return were_elsewhere_; }
  /// Bytes in the spaces of devices, and what the host holds besides them. From any thread.
  uint64_t device_bytes() const { return read_counter(device_bytes_); }
  uint64_t host_bytes() const { return read_counter(host_bytes_); }
  /// Gives each state its first content. REQUIRES: make() was ok.
  void reset();
  /// Gives state i this content. kInvalidArgument: there is no state i, or it has another dtype or
  /// shape.
  Fault set(size_t i, const TensorView& tensor);

  /// The host's memory of all states; nullptr: nothing has needed it there yet.
  uint8_t* on_host() const { return on_host_; }
  /// Per state: its offset in on_host(), and in block_in() of each slot.
  Span<const uint64_t> offsets() const { return {offsets_.data(), offsets_.size()}; }
  /// All of them in the slot's space; nullptr: make_in was not called.
  const DeviceBlock& block_in(int slot) const { return device_blocks_[slot]; }
  /// State k where it is in a space.
  uint8_t* place_in(size_t k, int space) const {
    uint8_t* base = space == kHostSpace ? on_host_ : device_blocks_[slot_of_space(space)].data();
    return place_at(base, offsets_[k]);
  }

  /// Brings the content of state k to that space; the old place may keep a valid copy.
  Fault bring(size_t k, int space);
  /// To be called after a run that failed: copies that bring() has queued may never arrive.
  void forget_brought();
  /// Notes that the content of state k changed in that space, which now has the only valid copy.
  void changed(size_t k, int space);
  /// Returns the content of state i on the host. kInvalidArgument: there is no state i.
  Result<TensorView> view(size_t i);

 private:
  struct Table {
    TensorView view;                ///< without data
    const void* initial = nullptr;  ///< nullptr: zeros
    uint8_t space = kHostSpace;     ///< the last space that has the content
    bool is_on_host = false;        ///< the host has it, too
    bool is_first = true;           ///< it has its first content, which is in no space yet
    /// What `space` has is a copy of the host's content or of the first one.
    bool is_brought = false;
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
