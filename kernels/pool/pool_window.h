#pragma once

// The common parts of the 2-d pools: the shape rule and the walk over windows.

#include <algorithm>

#include "kernels/common/check.h"
#include "kernels/common/element.h"

namespace lazyrt {

/// Positions first, first + step, ... below last along one dim, all inside the input.
struct PoolRange {
  int64_t first, last, step;
};

/// A window of `kernel` positions from `start` (may be negative), cut to [0, extent).
inline PoolRange pool_range(int64_t start, int64_t extent, int64_t kernel, int64_t step) {
  const int64_t first = start < 0 ? start + (-start + step - 1) / step * step : start;
  return {first, std::min(start + (kernel - 1) * step + 1, extent), step};
}

/// x [N,H,W,C] -> y [N,OH,OW,C]. Torch refuses padding of more than half a kernel; here it must be
/// less than the kernel, so that one-sided padding folded into a pool is possible.
template <class Table>
Fault infer_pool(Word op, const Table& a, int64_t dilation_h, int64_t dilation_w,
                 Span<const TensorSpec> in, Span<TensorSpec> out) {
  LAZYRT_RETURN_IF_ERROR(check_dtype(op, "x", in[0], kFloatTypes));
  LAZYRT_RETURN_IF_ERROR(check_rank(op, "x", in[0], 4));
  const Shape& x = in[0].shape;
  const Window windows[2] = {{"height", x[1], a.kernel_h(), a.stride_h(), a.pad_top(),
                              a.pad_bottom(), dilation_h, a.ceil_mode()},
                             {"width", x[2], a.kernel_w(), a.stride_w(), a.pad_left(),
                              a.pad_right(), dilation_w, a.ceil_mode()}};
  int64_t counts[2] = {};
  for (int i = 0; i < 2; ++i) {
    const Window& w = windows[i];
    LAZYRT_RETURN_IF_ERROR(count_windows(op, w, &counts[i]));
    const int64_t most = (w.kernel - 1) * w.dilation;
    LAZYRT_RETURN_IF_ERROR(check_range(op, "padding before", w.pad_before, 0, most));
    LAZYRT_RETURN_IF_ERROR(check_range(op, "padding after", w.pad_after, 0, most));
  }
  return set_output(op, &out[0], in[0].dtype, Shape{x[0], counts[0], counts[1], x[3]});
}

/// Each output element reads the taps that lie inside x.
template <class Table>
Work pool_work(const Table& a, const TensorSpec& x, const TensorSpec& y) {
  const Work rows = trips(std::min<int64_t>(a.kernel_h(), x.shape[1]));
  const Work columns = trips(std::min<int64_t>(a.kernel_w(), x.shape[2]));
  return volume(y.shape) * rows * columns + volume(x.shape);
}

/// Calls add(pixel) with the C channels of each input pixel in rows x columns of an image.
template <class T, class Add>
void for_each_pixel(const T* image, const Shape& x, PoolRange rows, PoolRange columns, Add&& add) {
  for (int64_t h = rows.first; h < rows.last; h += rows.step) {
    for (int64_t w = columns.first; w < columns.last; w += columns.step) {
      add(image + (h * x[2] + w) * x[3]);
    }
  }
}

/// Calls pool(image, oh, ow, y) for every output pixel, y being its C channels.
template <class T, class Pool>
void for_each_window(const RunContext& context, Pool&& pool) {
  const Shape& x = context.inputs[0].shape;
  const Shape& y = context.outputs[0].shape;
  T* out = context.outputs[0].template as<T>();
  for (int64_t n = 0; n < y[0]; ++n) {
    const T* image = context.inputs[0].template as<const T>() + n * x[1] * x[2] * x[3];
    for (int64_t oh = 0; oh < y[1]; ++oh) {
      for (int64_t ow = 0; ow < y[2]; ++ow, out += y[3]) pool(image, oh, ow, out);
    }
  }
}

}  // namespace lazyrt
