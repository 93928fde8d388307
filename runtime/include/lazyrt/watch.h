#pragma once

// What a session reports of its runs while they go on: any value that a node makes, and when each
// step began and ended. For debugging: a session without a watch does none of it.

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "lazyrt/tensor_view.h"

namespace lazyrt {

struct NodeInfo;

/// A result of a node, which a run can hand out. Texts live as long as the Program.
struct TapPoint {
  size_t variant = 0;  ///< of the method
  size_t node = 0;     ///< in the variant, in order of execution: the number that inspect shows
  size_t result = 0;   ///< which of the node's results
  size_t value = 0;    ///< its id in the variant: inspect shows it as %value
  const char* op = "";
  const char* module_path = "";
  size_t repeat = 0;  ///< how many nodes before it in the variant have its op and module path
};

/// A name that stays the same as long as the module's program does: "features.0/conv2d",
/// "features.0/conv2d_1" for the second one there, "conv2d" in the root, "lstm/lstm:1" for the
/// second result. Writes at most `room` bytes including the 0 at the end; returns the length of the
/// whole name, as snprintf does.
size_t tap_name(const TapPoint& point, char* text, size_t room);

/// Whether `selector` names this point. A selector is a tap_name; "%12", the value with that id;
/// "12", the results of the node with that number; a module path, everything made in that module
/// and those inside it; or "*". "1@..." names points in variant 1 of the method only.
bool tap_matches(const TapPoint& point, std::string_view selector);

/// A span of time within a run, on the thread that called run.
struct RunSpan {
  enum class Kind : uint8_t {
    kRun,      ///< the whole of Session::run
    kBind,     ///< other shapes: plan, kernels, memory
    kInputs,   ///< bound inputs and states are copied to where they are read
    kNode,     ///< a node, or the nodes of a device's segment
    kCopy,     ///< a value between the host's memory and a device's
    kOutputs,  ///< outputs are copied to where they are bound, and states take their next values
  };
  Kind kind = Kind::kRun;
  uint64_t begin = 0;  ///< nanoseconds of a clock that never goes back
  uint64_t end = 0;
  /// For kNode (the first node of a segment) and kCopy, else nullptr. Valid during the call.
  const NodeInfo* node = nullptr;
  size_t nodes = 0;  ///< of kNode: how many ran
  bool ok = true;
};

/// Callbacks of a session. The thread that makes, binds or runs the session calls them and waits
/// for them. Any function may be nullptr. They must neither use the session nor throw.
struct Watch {
  void* context = nullptr;
  /// Whether a value is tapped; nullptr: all are. Called for each point when the session is made
  /// and when it is bound to other shapes. A device's segment ends at a tapped node.
  bool (*wants)(void* context, const TapPoint& point) = nullptr;
  /// Receives the value right after its node ran, before anything can overwrite it; it is on the
  /// host, as a copy if a device made it. Valid during the call. Also called in runs that fail
  /// later.
  void (*take)(void* context, const TapPoint& point, const TensorView& value) = nullptr;
  /// Called after the span has ended. Each segment of a device is waited for then.
  void (*span)(void* context, const RunSpan& span) = nullptr;
};

}  // namespace lazyrt
