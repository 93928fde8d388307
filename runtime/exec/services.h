#pragma once

#include "runtime/backend/backend.h"
#include "runtime/bundle/program_state.h"
#include "runtime/core/profile.h"

namespace lazyrt {

/// What the backends of one session hold, each opened when the first node needs it.
class BackendServices {
 public:
  /// A backend and its fallbacks are at most this many.
  static constexpr int kMaxBackends = 4;

  BackendServices() = default;
  BackendServices(const BackendServices&) = delete;
  BackendServices& operator=(const BackendServices&) = delete;
  ~BackendServices() { close(); }

  /// REQUIRES: all arguments outlive this; `program` is the program as loaded from the file.
  void init(const SessionOptions& options, CountedMemory* memory, const ProgramState& program,
            const RunStop& stop) {
    options_ = &options;
    memory_ = memory;
    program_ = &program;
    if (kDevices) stop_ = &stop;
  }
  int threads() const { return options_->threads; }
  /// A backend that is open.
  struct Slot {
    const Backend* backend = nullptr;
    void* services = nullptr;
    void* program = nullptr;        ///< what open_weights made
    FirstFault* refusal = nullptr;  ///< why it cannot be opened; owned
  };

  /// The number of this backend's slot, opened if it is not yet. Numbers stay, and so does a
  /// refusal (kUnsupported).
  Fault find_or_open(const Backend& backend, int* slot);
  /// REQUIRES: opened.
  const Slot& slot(int i) const { return slots_[i]; }
  /// Keeps why a node runs on no backend before its own, as long as the Program. *reason is the
  /// first one if it is set.
  Fault keep_reason(const FirstFault& why, const char** reason) const;
  /// REQUIRES: no kernel or segment of these backends is left.
  void close();

 private:
  Fault open(Slot* slot) const;
  Fault keep_refusal(Fault refusal, Slot* slot);

  const SessionOptions* options_ = nullptr;
  CountedMemory* memory_ = nullptr;
  const ProgramState* program_ = nullptr;
  const RunStop* stop_ = nullptr;  ///< of the session's runs
  Slot slots_[kMaxBackends];
  int count_ = 0;
};

}  // namespace lazyrt
