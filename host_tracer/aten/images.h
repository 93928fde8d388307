#pragma once

// Image operators see [N,H,W,C]; ATen gives [N,C,H,W], [C,H,W], [N,C,L] or [C,L].

#include "host_tracer/aten/emitter.h"

namespace lazyrt {

/// An ATen image with what is needed to give a result the operand's form.
struct Image {
  ValueId nhwc = kNoValue;
  int spatial = 2;  ///< 1: came as [..., C, L], its height is 1
  bool batched = true;
};

/// `x` as NHWC. `spatial` is 1 or 2; the rank must be spatial + 1 or spatial + 2.
Image to_image(Emitter& e, ValueId x, int spatial);
/// An NHWC result in the form of the operand.
ValueId from_image(Emitter& e, const Image& like, ValueId nhwc);

}  // namespace lazyrt
