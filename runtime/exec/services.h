#pragma once

#include "runtime/backend/backend.h"
#include "runtime/bundle/program_state.h"
#include "runtime/core/profile.h"

namespace lazyrt {

/// The services of one session's backends, each opened when the first node needs it.
class BackendServices {
 public:
  /// A backend and its fallbacks may be at most this many.
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

  /// Returns the number of this backend's slot, and opens it if it is not open. Numbers do not
  /// change, and neither does a refusal (kUnsupported).
  Fault find_or_open(const Backend& backend, int* slot);
  /// REQUIRES: opened.
  const Slot& slot(int i) const { return slots_[i]; }
  /// Keeps, as long as the Program, why a node does not run on an earlier backend. *reason stays if
  /// it is set already.
  Fault keep_reason(const FirstFault& why, const char** reason) const;
  /// REQUIRES: no kernel or segment of these backends exists any more.
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
