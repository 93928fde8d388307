#pragma once

#include "kernels/common/copy.h"

namespace lazyrt {

/// Calls copy(operand, position of its first element in the result, strides in the result) for each
/// operand.
template <class Copy>
void for_each_part(const RunContext& context, Copy copy) {
  const int axis = context.attrs.as<fb::Concat>().axis();
  const TensorView& y = context.outputs[0];
  const Strides to = row_major(y.shape);
  int64_t first = 0;
  for (const TensorView& x : context.inputs) {
    copy(x, element_at(y.data, first, dtype_size(y.dtype)), to);
    first += x.shape[axis] * to[axis];
  }
}

}  // namespace lazyrt
