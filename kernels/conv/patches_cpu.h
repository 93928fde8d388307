#pragma once

// Convolution as a product: the patches of x for a block of output pixels are copied side by side,
// and multiplied with the filters while they are in the cache.

#include <cstring>

#include "runtime/backends/cpu/gemm_panels.h"

namespace lazyrt {

inline GemmShares patches_shares(const CpuServices& cpu, const GemmPanels& panels, size_t pixels) {
  constexpr size_t kMost = size_t{1} << 19;  // floats of patches
  const size_t fit = kMost / panels.k / kGemmRowsMultiple * kGemmRowsMultiple;
  return GemmShares(cpu, panels, pixels, std::max(fit, kGemmRowsMultiple));
}

/// Floats of scratch memory of one thread for `pixels` output pixels.
inline size_t patches_scratch(const CpuServices& cpu, const GemmPanels& panels, size_t pixels) {
  return patches_shares(cpu, panels, pixels).block * panels.k;
}

/// One run of such a convolution, groups 1; panels hold the filters [O][KH * KW * C], `scratch`
/// patches_scratch() floats for each thread.
class PatchesRun {
 public:
  PatchesRun(const GemmPanels& panels, const RunContext& context)
      : panels_(panels),
        attrs_(context.attrs.as<fb::Conv2d>()),
        x_(context.inputs[0].as<const float>()),
        x_shape_(context.inputs[0].shape),
        y_(context.outputs[0].as<float>()),
        y_shape_(context.outputs[0].shape),
        kernel_h_(context.inputs[1].shape[1]),
        kernel_w_(context.inputs[1].shape[2]),
        scratch_(static_cast<float*>(context.workspace)),
        cpu_(cpu_services(context)),
        rows_(static_cast<size_t>(y_shape_[0] * y_shape_[1] * y_shape_[2])),
        shares_(patches_shares(cpu_, panels, rows_)) {}

  void run() const {
    // Each group copies the patches again, so there are no more groups than threads.
    const auto threads = static_cast<size_t>(cpu_.threads);
    const size_t groups = std::min(shares_.groups, threads);
    const size_t group = (panels_.panels() + groups - 1) / groups;
    parallel_items(cpu_, shares_.blocks * groups, [&](size_t thread, size_t item) {
      const size_t row = item / groups * shares_.block;
      const size_t count = std::min(shares_.block, rows_ - row);
      float* patches = scratch_ + thread * shares_.block * panels_.k;
      for (size_t i = 0; i < count; ++i) {
        copy_patch(static_cast<int64_t>(row + i), patches + i * panels_.k);
      }
      const size_t first = item % groups * group;
      gemm_part(*cpu_.vector, panels_,
                {patches, panels_.k, count, y_ + row * panels_.columns, panels_.columns,
                 attrs_.min(), attrs_.max()},
                first, std::min(first + group, panels_.panels()));
    });
  }

 private:
  void copy_patch(int64_t pixel, float* patch) const {
    const int64_t image = pixel / (y_shape_[1] * y_shape_[2]);
    const int64_t top = pixel / y_shape_[2] % y_shape_[1] * attrs_.stride_h() - attrs_.pad_top();
    const int64_t left = pixel % y_shape_[2] * attrs_.stride_w() - attrs_.pad_left();
    const auto of_a_row = static_cast<size_t>(kernel_w_ * x_shape_[3]);
    for (int64_t i = 0; i < kernel_h_; ++i, patch += of_a_row) {
      const int64_t row = top + i * attrs_.dilation_h();
      if (row < 0 || row >= x_shape_[1]) {
        std::memset(patch, 0, of_a_row * sizeof(float));
      } else {
        copy_row(x_ + (image * x_shape_[1] + row) * x_shape_[2] * x_shape_[3], left, patch);
      }
    }
  }

  void copy_row(const float* row, int64_t left, float* patch) const {
    const int64_t width = x_shape_[2], channels = x_shape_[3], step = attrs_.dilation_w();
    if (step == 1 && left >= 0 && left + kernel_w_ <= width) {
      std::memcpy(patch, row + left * channels,
                  static_cast<size_t>(kernel_w_ * channels) * sizeof(float));
      return;
    }
    const size_t bytes = static_cast<size_t>(channels) * sizeof(float);
    for (int64_t j = 0; j < kernel_w_; ++j, patch += channels) {
      const int64_t column = left + j * step;
      if (column < 0 || column >= width) {
        std::memset(patch, 0, bytes);
      } else {
        std::memcpy(patch, row + column * channels, bytes);
      }
    }
  }

  const GemmPanels& panels_;
  const fb::Conv2d& attrs_;
  const float* x_;
  const Shape& x_shape_;
  float* y_;
  const Shape& y_shape_;
  int64_t kernel_h_, kernel_w_;
  float* scratch_;
  const CpuServices& cpu_;
  size_t rows_;
  GemmShares shares_;
};

}  // namespace lazyrt
