#pragma once

#include <ATen/core/Tensor.h>

namespace lazyrt {

/// A clone with the same layout in its memory as the tensor in its own: the same gaps between rows
/// and the same elements before it. Not a view; without gradients. For a small part of a large
/// memory, the clone has only the same strides.
at::Tensor clone_in_place(const at::Tensor& tensor);

}  // namespace lazyrt
