#pragma once

#include "kernels/common/strides.h"
#include "runtime/op/op_def.h"

namespace lazyrt {

/// Loops over the result, the condition and both choices, broadcast to the result's shape.
inline LoopNest<4> where_loops(const RunContext& context) {
  const Shape& shape = context.outputs[0].shape;
  return LoopNest<4>(shape, {row_major(shape), broadcast_strides(context.inputs[0].shape, shape),
                             broadcast_strides(context.inputs[1].shape, shape),
                             broadcast_strides(context.inputs[2].shape, shape)});
}

}  // namespace lazyrt
