#pragma once

// The common parts of the scans: the walk along an axis.

#include "kernels/common/arithmetic.h"
#include "kernels/common/element.h"
#include "kernels/common/strides.h"
#include "runtime/op/op_def.h"

namespace lazyrt {

/// What is accumulated in.
template <class T>
using ScanOf = std::conditional_t<kIsFloat<T>, double, int64_t>;

/// y = start folded by `step` with every element along the axis up to and including this one.
template <class T, class Step>
void scan_axis(const RunContext& context, int axis, ScanOf<T> start, const Step& step) {
  const AxisView v = axis_view(context.inputs[0].shape, axis);
  const T* x = context.inputs[0].as<const T>();
  T* y = context.outputs[0].as<T>();
  for (int64_t o = 0; o < v.outer; ++o) {
    for (int64_t i = 0; i < v.inner; ++i) {
      ScanOf<T> value = start;
      for (int64_t k = 0; k < v.extent; ++k) {
        const int64_t at = (o * v.extent + k) * v.inner + i;
        value = step(value, static_cast<ScanOf<T>>(x[at]));
        y[at] = convert<T>(value);
      }
    }
  }
}

}  // namespace lazyrt
