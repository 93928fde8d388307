#pragma once

// Image operators take [N,H,W,C]; ATen gives [N,C,D,H,W], [N,C,H,W], [N,C,L], or the same without
// N. Operators with three spatial dims are composed of operators with two (decisions/0002).

#include <array>
#include <optional>

#include "host_tracer/aten/emitter.h"

namespace lazyrt {

/// An ATen image, and what is needed to bring a result into the operand's form.
struct Image {
  ValueId nhwc = kNoValue;  ///< channels last: [N,H,W,C], or [N,D,H,W,C] of three spatial dims
  int spatial = 2;          ///< 1: came as [..., C, L], its height is 1
  bool batched = true;
};

/// `x` with its channels last. `spatial` is 1 to 3; the rank must be spatial + 1 or spatial + 2.
Image to_image(Emitter& e, ValueId x, int spatial);
/// Brings a channels-last result into the form of the operand `like`.
ValueId from_image(Emitter& e, const Image& like, ValueId nhwc);

/// [N,D,H,W,C] -> [N * D,H,W,C], and back. No memory moves.
ValueId to_frames(Emitter& e, ValueId x);
ValueId from_frames(Emitter& e, ValueId x, int64_t n, int64_t depth);

/// Composes an operator on [N,D,H,W,C] that treats its dims one after the other: `plane` on height
/// and width of each frame, then `depth` on [N,D,H * W,C], whose last dims it leaves alone. An
/// absent part changes nothing.
template <class TableT>
ValueId by_dims(Emitter& e, ValueId x, const std::optional<TableT>& plane,
                const std::optional<TableT>& depth) {
  const int64_t n = e.dim(x, 0), frames = e.dim(x, 1);
  if (plane) x = from_frames(e, e.add(*plane, {to_frames(e, x)}), n, frames);
  if (!depth) return x;
  const int64_t h = e.dim(x, 2), w = e.dim(x, 3), c = e.dim(x, 4);
  x = e.add(*depth, {e.reshape(x, e.make_shape({n, frames, h * w, c}))});
  return e.reshape(x, e.make_shape({n, e.dim(x, 1), h, w, c}));
}

}  // namespace lazyrt
