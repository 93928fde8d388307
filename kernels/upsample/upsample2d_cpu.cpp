// Resizing in vectors: the rows of x that make up a row of y are blended, then its pixels.

#include <cstring>

#include "kernels/upsample/upsample_taps.h"
#include "runtime/backends/cpu/cpu_backend.h"

namespace lazyrt {

extern const Kernel upsample2d_cpu;

namespace {

using Mode = fb::UpsampleMode;

bool interpolates(Mode mode) { return mode == Mode::Bilinear || mode == Mode::Bicubic; }

Fault supports(const NodeSpec& node) {
  const TensorSpec& x = node.inputs[0];
  const TensorSpec& y = node.outputs[0];
  if (x.dtype != DType::kFloat32 || y.numel() == 0) {
    return Fault(Error::kUnsupported, "upsample2d: only f32 that is not empty");
  }
  constexpr int64_t kMostShrunk = 4;  // whole rows are blended, even parts that no pixel of y reads
  if (x.shape[2] / kMostShrunk > y.shape[2]) {
    return Fault(Error::kUnsupported, "upsample2d: the width shrinks to less than a fourth");
  }
  return {};
}

size_t row_of(const Shape& x) { return static_cast<size_t>(x[2] * x[3]); }

Fault prepare(const PrepareContext& context, PreparedKernel* prepared) {
  if (!interpolates(context.node.attrs.as<fb::Upsample2d>().mode())) return {};
  prepared->workspace_bytes = static_cast<size_t>(cpu_services(context).threads) *
                              row_of(context.node.inputs[0].shape) * sizeof(float);
  return {};
}

/// One run.
class Resizing {
 public:
  explicit Resizing(const RunContext& context)
      : vector_(*cpu_services(context).vector),
        x_(context.inputs[0].as<const float>()),
        y_(context.outputs[0].as<float>()),
        x_shape_(context.inputs[0].shape),
        y_shape_(context.outputs[0].shape),
        scratch_(static_cast<float*>(context.workspace)),
        channels_(static_cast<size_t>(x_shape_[3])) {
    const auto& a = context.attrs.as<fb::Upsample2d>();
    rows_ = resized_axis<float>(a, x_shape_[1], y_shape_[1], a.scale_h());
    columns_ = resized_axis<float>(a, x_shape_[2], y_shape_[2], a.scale_w());
  }

  void run_row(size_t thread, size_t row) const {
    const auto at = static_cast<int64_t>(row);
    const float* image = x_ + at / y_shape_[1] * x_shape_[1] * x_shape_[2] * x_shape_[3];
    float* y = y_ + at * y_shape_[2] * y_shape_[3];
    const ResizeTaps<float> taps = resize_taps(rows_, at % y_shape_[1]);
    const size_t size = row_of(x_shape_);
    if (taps.count == 1) return pixels(image + static_cast<size_t>(taps.index[0]) * size, y);
    const bool straight = columns_.keeps && columns_.mode == Mode::Bilinear;
    float* blend = straight ? y : scratch_ + thread * size;
    blended(image, size, taps, size, blend);
    // The second tap of an unmoved pixel has no weight: an infinite pixel there gives NaN, as
    // elsewhere.
    if (straight) return vector_.axpy(0, y, y, size);
    pixels(blend, y);
  }

 private:
  /// y [n]: the taps of places `step` apart.
  void blended(const float* x, size_t step, const ResizeTaps<float>& taps, size_t n,
               float* y) const {
    vector_.scale_shift1(x + static_cast<size_t>(taps.index[0]) * step, taps.weight[0], 0, y, n);
    for (int k = 1; k < taps.count; ++k) {
      vector_.axpy(taps.weight[k], x + static_cast<size_t>(taps.index[k]) * step, y, n);
    }
  }

  void pixels(const float* row, float* y) const {
    const size_t bytes = channels_ * sizeof(float);
    if (columns_.keeps && !interpolates(columns_.mode)) {
      std::memcpy(y, row, static_cast<size_t>(y_shape_[2]) * bytes);
      return;
    }
    for (int64_t i = 0; i < y_shape_[2]; ++i, y += channels_) {
      const ResizeTaps<float> taps = resize_taps(columns_, i);
      if (taps.count == 1) {
        std::memcpy(y, row + static_cast<size_t>(taps.index[0]) * channels_, bytes);
      } else {
        blended(row, channels_, taps, channels_, y);
      }
    }
  }

  const VectorOps& vector_;
  const float* x_;
  float* y_;
  const Shape& x_shape_;
  const Shape& y_shape_;
  float* scratch_;
  size_t channels_;
  ResizedAxis<float> rows_ = {}, columns_ = {};
};

Fault run(void*, const RunContext& context) {
  const Resizing resizing(context);
  const Shape& y = context.outputs[0].shape;
  parallel_items(cpu_services(context), static_cast<size_t>(y[0] * y[1]),
                 [&](size_t thread, size_t row) { resizing.run_row(thread, row); });
  return {};
}

}  // namespace

const Kernel upsample2d_cpu = {supports, prepare, run, nullptr};

}  // namespace lazyrt
