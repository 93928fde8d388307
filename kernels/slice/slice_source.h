#pragma once

#include "kernels/common/check.h"
#include "kernels/common/strides.h"

namespace lazyrt {

/// Where a slice lies in its operand, in elements.
struct SliceSource {
  int64_t first = 0;
  Strides strides;
};

/// REQUIRES: the node's shape rule holds and the result is not empty.
inline SliceSource slice_source(const RunContext& context) {
  const auto& a = context.attrs.as<fb::Slice>();
  const Shape starts = attribute_list(a.starts());
  const Shape steps = attribute_list(a.steps());
  SliceSource source;
  source.strides = row_major(context.inputs[0].shape);
  for (int i = 0; i < starts.rank(); ++i) {
    int64_t& stride = source.strides[i];
    source.first += starts[i] * stride;
    stride = context.outputs[0].shape[i] == 1 ? 0 : stride * steps[i];
  }
  return source;
}

}  // namespace lazyrt
