#pragma once

// In-place calls of a program that read elements which they write: what eager gives then depends on
// the order in memory and on the vector unit, and PyTorch does not define it. A bundle reads before
// it writes.

#include <ATen/record_function.h>

#include <functional>
#include <string>

#include "host_tracer/trace/trace.h"

namespace lazyrt {

/// While it lives, watches the ATen calls on this thread.
class OverlapWatch {
 public:
  /// `source_of` returns the calling line; may be empty.
  explicit OverlapWatch(std::function<Source()> source_of);
  ~OverlapWatch();
  OverlapWatch(const OverlapWatch&) = delete;
  OverlapWatch& operator=(const OverlapWatch&) = delete;

  /// Text on the first call whose result changes if it reads before it writes; empty: there was
  /// none.
  const std::string& found() const { return found_; }

 private:
  void look_at(const at::RecordFunction& call);

  std::function<Source()> source_of_;
  at::CallbackHandle handle_;
  std::string found_;
  bool looking_ = false;
};

}  // namespace lazyrt
