#pragma once

#include <c10/core/impl/LocalDispatchKeySet.h>

namespace lazyrt {

/// While one lives on the thread of a capture, operators get the capture's leaf in place of a CPU
/// tensor that is one of the request's buffers. A program whose members are these tensors, as those
/// of a C++ module, can so write into them: they become state.
class BufferMode {
 public:
  BufferMode();
  BufferMode(const BufferMode&) = delete;
  BufferMode& operator=(const BufferMode&) = delete;

 private:
  c10::impl::IncludeDispatchKeyGuard include_;
};

}  // namespace lazyrt
