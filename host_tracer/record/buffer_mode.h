#pragma once

#include <ATen/core/Tensor.h>
#include <c10/core/Storage.h>
#include <c10/core/impl/LocalDispatchKeySet.h>

#include <unordered_map>
#include <vector>

#include "host_tracer/trace/trace.h"

namespace lazyrt {

/// While one lives on the thread of a capture, operators get the capture's leaf in place of a CPU
/// tensor that is one of the request's buffers. A program whose members are these tensors, as those
/// of a C++ module, can so write into them: they become state. Sees, too, what the program writes
/// into other CPU tensors: the capture has no part in what is computed there. One at a time.
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
  /// Held weakly: the memory goes, but no other storage gets the address.
  std::unordered_map<const c10::StorageImpl*, WeakStorage> made_;
  std::vector<Source> writes_outside_;
};

}  // namespace lazyrt
