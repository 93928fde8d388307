#pragma once

#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/stack.h>

#include <string>

namespace lazyrt {

class CaptureSession;

/// Does calls that bring a value to the program (item, bool, equal, copies to the CPU): pops the
/// arguments, pushes the value, logs the sync. False: the call is none of these, nothing happened.
bool record_sync(CaptureSession& session, const c10::OperatorHandle& op, torch::jit::Stack* stack);

/// Records aten::_assert_async, torch.linalg's looks at `info` and their like as checks: pops the
/// arguments, pushes the condition where the call returns one. False: the call is none of these,
/// nothing happened.
bool record_assertion(CaptureSession& session, const c10::OperatorHandle& op,
                      torch::jit::Stack* stack);

/// Returns whether the condition (one element) holds; the caller raises where it does not. That is
/// a check, but a guard where the program catches it and goes on.
bool holds(CaptureSession& session, const at::Tensor& condition, const std::string& text,
           bool caught);

/// While one lives, values read on this thread are for people only.
class PeekScope {
 public:
  PeekScope();
  ~PeekScope();
  PeekScope(const PeekScope&) = delete;
  PeekScope& operator=(const PeekScope&) = delete;

 private:
  bool outer_;
};

/// Logs that the program continues with a count that depends on inputs; returns the count. `count`
/// is the lazy tensor (one integer) that the guard will compute.
int64_t sync_count(CaptureSession& session, const at::Tensor& count, const std::string& what,
                   const std::string& text);

}  // namespace lazyrt
