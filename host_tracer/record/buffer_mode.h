#pragma once

#include <ATen/core/Tensor.h>
#include <c10/core/Storage.h>
#include <c10/core/impl/LocalDispatchKeySet.h>

#include <unordered_map>
#include <vector>

#include "host_tracer/trace/trace.h"

namespace lazyrt {

/// While one lives on the thread of a capture, operators get the capture's leaf in place of a CPU
/// tensor that is one of the request's buffers. So a program whose members are these tensors, such
/// as a C++ module, can write into them: they become state. It also sees writes into other CPU
/// tensors, although the capture does not record what is computed there. One at a time.
class BufferMode {
 public:
  BufferMode();
  ~BufferMode();
  BufferMode(const BufferMode&) = delete;
  BufferMode& operator=(const BufferMode&) = delete;

  /// Where the program has written in place into CPU tensors that no operator has made since.
  const std::vector<Source>& writes_outside() const { return writes_outside_; }

  /// For the dispatcher: a CPU tensor that an operator is about to write into.
  void note_write(const at::Tensor& cpu);
  /// For the dispatcher: a CPU tensor that an operator has made.
  void note_made(const at::Tensor& cpu);

 private:
  using WeakStorage = c10::weak_intrusive_ptr<c10::StorageImpl>;

  c10::impl::IncludeDispatchKeyGuard include_;
  /// Held weakly: the memory is released, but no other storage gets its address.
  std::unordered_map<const c10::StorageImpl*, WeakStorage> made_;
  std::vector<Source> writes_outside_;
};

}  // namespace lazyrt
