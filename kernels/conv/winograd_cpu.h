#pragma once

// Convolution of 3x3 at stride 1 by Winograd's minimal filtering F(4x4, 3x3): a tile of 6x6 pixels
// is evaluated at 36 points, multiplied there with the filters' values, and gives 4x4 outputs, with
// a quarter of the multiplications. (A. Lavin, S. Gray, "Fast Algorithms for Convolutional Neural
// Networks", 2016; the points are ours, see VectorOps.) Each thread takes some tiles through all
// three steps, so that intermediate values stay in its cache.

#include <algorithm>
#include <cstring>

#include "runtime/backends/cpu/cpu_backend.h"

namespace lazyrt {

/// The sizes of such a convolution, for one shape of x.
struct WinogradConv {
  size_t in_channels = 0, out_channels = 0, panels = 0;
  /// Tiles along an image's height and width, and tiles of all images.
  size_t tiles_h = 0, tiles_w = 0, tiles = 0;
  size_t block = 0;                ///< tiles taken through the steps together
  const float* filters = nullptr;  ///< [36][panels][in_channels][kGemmPanel], in the weight store

  /// Floats from one point to the next. Not a multiple of a large power of two, because 36 such
  /// rows are read side by side.
  size_t in_stride() const { return block * in_channels + kGemmPanel; }
  size_t out_stride() const { return block * panels * kGemmPanel + kGemmPanel; }
  /// Floats of scratch memory per thread: the points of x and of y, and a pixel of zeros.
  size_t scratch() const {
    const size_t floats = kWinogradPoints * (in_stride() + out_stride()) + in_channels;
    return (floats + kGemmPanel - 1) / kGemmPanel * kGemmPanel;
  }
};

constexpr size_t kWinogradTile = 4;

inline WinogradConv winograd_of(const NodeSpec& node, size_t threads) {
  const Shape& y = node.outputs[0].shape;
  WinogradConv w;
  w.in_channels = static_cast<size_t>(node.inputs[1].shape[3]);
  w.out_channels = static_cast<size_t>(y[3]);
  w.panels = (w.out_channels + kGemmPanel - 1) / kGemmPanel;
  w.tiles_h = (static_cast<size_t>(y[1]) + kWinogradTile - 1) / kWinogradTile;
  w.tiles_w = (static_cast<size_t>(y[2]) + kWinogradTile - 1) / kWinogradTile;
  w.tiles = static_cast<size_t>(y[0]) * w.tiles_h * w.tiles_w;
  // Few enough tiles for the second-level cache, enough that the filters are not read too often,
  // and some for each thread.
  constexpr size_t kScratch = size_t{1} << 16, kLarge = size_t{1} << 13, kMost = 96;
  const size_t fit = kScratch / (kWinogradPoints * (w.in_channels + w.panels * kGemmPanel));
  const size_t fewest = w.in_channels * w.out_channels < kLarge ? 12 : 24;
  const size_t even = (w.tiles + threads - 1) / threads;
  const size_t wanted = std::min(std::clamp(fit, fewest, kMost), even);
  w.block = (wanted + kGemmRowsMultiple - 1) / kGemmRowsMultiple * kGemmRowsMultiple;
  return w;
}

/// Whether the node is such a convolution, and large enough to be faster.
inline bool winograd_pays(const NodeSpec& node) {
  const auto& a = node.attrs.as<fb::Conv2d>();
  const Shape& w = node.inputs[1].shape;
  const Shape& y = node.outputs[0].shape;
  if (w[1] != 3 || w[2] != 3 || a.groups() != 1 || a.stride_h() != 1 || a.stride_w() != 1 ||
      a.dilation_h() != 1 || a.dilation_w() != 1) {
    return false;
  }
  constexpr int64_t kFewestChannels = 16, kFewestPixels = 64, kMostFilters = int64_t{1} << 16;
  constexpr int64_t kTile = kWinogradTile;
  const int64_t pixels = y[1] * y[2];
  const int64_t tiles = ((y[1] + kTile - 1) / kTile) * ((y[2] + kTile - 1) / kTile);
  return w[0] >= kFewestChannels && w[3] >= kFewestChannels && w[0] * w[3] <= kMostFilters &&
         pixels >= kFewestPixels && 2 * pixels >= tiles * kTile * kTile;  // most of a tile is used
}

/// Evaluates filters [O,3,3,C] at the points. Reads filters and writes panels in long runs: in
/// between, 16 channels of a panel's 16 filters are transposed.
inline void winograd_filters(const VectorOps& vector, const WinogradConv& conv,
                             const float* weights, float* packed) {
  constexpr size_t kTaps = 9, kChannels = 16;
  const size_t channels = conv.in_channels;
  const size_t of_a_point = conv.panels * channels * kGemmPanel;
  float turned[kChannels][kTaps][kGemmPanel] = {};
  for (size_t first = 0; first < conv.out_channels; first += kGemmPanel) {
    const size_t filters = std::min(kGemmPanel, conv.out_channels - first);
    if (filters < kGemmPanel) std::memset(turned, 0, sizeof(turned));
    for (size_t c = 0; c < channels; c += kChannels) {
      const size_t count = std::min(kChannels, channels - c);
      for (size_t o = 0; o < filters; ++o) {
        const float* filter = weights + (first + o) * kTaps * channels + c;
        for (size_t k = 0; k < kTaps; ++k) {
          for (size_t i = 0; i < count; ++i) turned[i][k][o] = filter[k * channels + i];
        }
      }
      float* column = packed + first * channels + c * kGemmPanel;
      for (size_t i = 0; i < count; ++i) {
        vector.winograd_filters(turned[i][0], column + i * kGemmPanel, of_a_point);
      }
    }
  }
}

/// The filters of this convolution, packed or found in the store; nullptr: no memory.
inline const float* winograd_pack(const VectorOps& vector, const WinogradConv& conv,
                                  const float* weights, WeightStore::Packing* packing) {
  const size_t bytes =
      kWinogradPoints * conv.panels * conv.in_channels * kGemmPanel * sizeof(float);
  const void* found = packing->find(weights, nullptr, bytes);
  if (found != nullptr) return static_cast<const float*>(found);
  auto* packed = static_cast<float*>(packing->insert(weights, nullptr, bytes));
  if (packed != nullptr) winograd_filters(vector, conv, weights, packed);
  return packed;
}

/// One run of such a convolution; `scratch` has conv.scratch() floats for each thread.
class WinogradRun {
 public:
  WinogradRun(const WinogradConv& conv, const RunContext& context)
      : conv_(conv),
        attrs_(context.attrs.as<fb::Conv2d>()),
        x_shape_(context.inputs[0].shape),
        y_shape_(context.outputs[0].shape),
        x_(context.inputs[0].as<const float>()),
        bias_(context.inputs.size() > 2 ? context.inputs[2].as<const float>() : nullptr),
        y_(context.outputs[0].as<float>()),
        scratch_(static_cast<float*>(context.workspace)),
        vector_(*cpu_services(context).vector) {}

  size_t blocks() const { return (conv_.tiles + conv_.block - 1) / conv_.block; }

  void run_block(size_t thread, size_t block) const {
    float* v = scratch_ + thread * conv_.scratch();
    float* m = v + kWinogradPoints * conv_.in_stride();
    float* zeros = m + kWinogradPoints * conv_.out_stride();
    std::memset(zeros, 0, conv_.in_channels * sizeof(float));
    const size_t first = block * conv_.block;
    const size_t count = std::min(conv_.block, conv_.tiles - first);
    for (size_t t = 0; t < count; ++t) points_of_x(first + t, zeros, v + t * conv_.in_channels);
    multiply(count, v, m);
    for (size_t t = 0; t < count; ++t) outputs(first + t, m + t * conv_.panels * kGemmPanel);
  }

 private:
  struct Place {
    int64_t image, row, column;  ///< of the first output of a tile
  };
  Place place_of(size_t tile) const {
    const size_t of_an_image = conv_.tiles_h * conv_.tiles_w;
    const size_t in_image = tile % of_an_image;
    return {static_cast<int64_t>(tile / of_an_image),
            static_cast<int64_t>(in_image / conv_.tiles_w * kWinogradTile),
            static_cast<int64_t>(in_image % conv_.tiles_w * kWinogradTile)};
  }

  void points_of_x(size_t tile, const float* zeros, float* v) const {
    const Place at = place_of(tile);
    const int64_t height = x_shape_[1], width = x_shape_[2], channels = x_shape_[3];
    const float* pixels[kWinogradPoints];
    for (int64_t i = 0; i < 6; ++i) {
      const int64_t row = at.row - attrs_.pad_top() + i;
      const bool inside = row >= 0 && row < height;
      for (int64_t j = 0; j < 6; ++j) {
        const int64_t column = at.column - attrs_.pad_left() + j;
        pixels[i * 6 + j] = inside && column >= 0 && column < width
                                ? x_ + ((at.image * height + row) * width + column) * channels
                                : zeros;
      }
    }
    vector_.winograd_input(pixels, v, conv_.in_stride(), conv_.in_channels);
  }

  void multiply(size_t rows, const float* v, float* m) const {
    GemmTile tile;
    tile.lda = tile.k = conv_.in_channels;
    tile.rows = rows;
    tile.ldc = conv_.panels * kGemmPanel;
    tile.panel = conv_.filters;
    for (size_t p = 0; p < kWinogradPoints; ++p) {
      tile.a = v + p * conv_.in_stride();
      tile.c = m + p * conv_.out_stride();
      for (size_t i = 0; i < conv_.panels; ++i) {
        vector_.gemm(tile);
        tile.panel += tile.k * kGemmPanel;
        tile.c += kGemmPanel;
      }
    }
  }

  void outputs(size_t tile, const float* m) const {
    const Place at = place_of(tile);
    const int64_t height = y_shape_[1], width = y_shape_[2], channels = y_shape_[3];
    float* pixels[kWinogradTile * kWinogradTile];
    for (int64_t k = 0; k < 16; ++k) {
      const int64_t row = at.row + k / 4, column = at.column + k % 4;
      pixels[k] = row < height && column < width
                      ? y_ + ((at.image * height + row) * width + column) * channels
                      : nullptr;
    }
    vector_.winograd_output(m, conv_.out_stride(), bias_, attrs_.min(), attrs_.max(), pixels,
                            conv_.out_channels);
  }

  const WinogradConv& conv_;
  const fb::Conv2d& attrs_;
  const Shape& x_shape_;
  const Shape& y_shape_;
  const float* x_;
  const float* bias_;
  float* y_;
  float* scratch_;
  const VectorOps& vector_;
};

}  // namespace lazyrt
