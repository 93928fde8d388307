#pragma once

#include <ATen/core/Tensor.h>

namespace lazyrt {

/// A clone that lies in its memory as the tensor does in its own: with gaps between its rows,
/// behind the elements before it. No view; without gradients. Of a small part of a large memory the
/// clone has the strides alone.
at::Tensor clone_in_place(const at::Tensor& tensor);

}  // namespace lazyrt
