#pragma once

// Notices that a program may have written: asked before anything is read that it could have written
// into.

#include <ATen/record_function.h>

#include <memory>
#include <optional>
#include <unordered_map>
#include <utility>

namespace lazyrt {

/// While one lives, notes on this thread that a call with a mutable schema has ended. One at a
/// time. Writes without an operator (`t.data = other`) are not seen.
class WritingCalls {
 public:
  WritingCalls() {
    ended() = false;
    handle_ = at::addThreadLocalCallback(
        at::RecordFunctionCallback(&WritingCalls::begin_call, &WritingCalls::end_call)
            .scopes({at::RecordScope::FUNCTION}));
  }
  ~WritingCalls() { at::removeCallback(handle_); }
  WritingCalls(const WritingCalls&) = delete;
  WritingCalls& operator=(const WritingCalls&) = delete;

  /// Whether one has ended since the last call of this function.
  static bool take() { return std::exchange(ended(), false); }

  /// While one lives, calls of the capture itself, on its own tensors, do not count.
  class Pause {
   public:
    Pause() : before_(ended()) {}
    ~Pause() { ended() = before_; }
    Pause(const Pause&) = delete;
    Pause& operator=(const Pause&) = delete;

   private:
    const bool before_;
  };

 private:
  static bool& ended() {
    static thread_local bool value = false;
    return value;
  }
  struct Writes : at::ObserverContext {};

  static std::unique_ptr<at::ObserverContext> begin_call(const at::RecordFunction& call) {
    return writes(call) ? std::make_unique<Writes>() : nullptr;
  }
  /// The schema is a copy: it is asked once for each operator, known by where its name lies.
  static bool writes(const at::RecordFunction& call) {
    static thread_local std::unordered_map<const char*, bool> known;
    const auto found = known.find(call.name());
    if (found != known.end()) return found->second;
    const std::optional<c10::FunctionSchema> schema = call.operator_schema();
    return schema && (known[call.name()] = schema->is_mutable());
  }
  static void end_call(const at::RecordFunction&, at::ObserverContext* writes) {
    if (writes != nullptr) ended() = true;
  }

  at::CallbackHandle handle_;
};

}  // namespace lazyrt
