#pragma once

// Routines over rows of float32, written once with Highway (vector_ops_inl.h) and compiled for each
// instruction set; vector_ops() picks the best that the processor has. Rows may have any length and
// alignment; nothing outside them is read or written. x and y may be the same row.

#include <cstddef>
#include <cstdint>

namespace lazyrt {

/// What a file of vector code may be compiled for.
enum class VectorIsa : uint8_t { kBaseline, kAvx2, kAvx512 };

/// Of `name` in the namespace of each instruction set the one for `isa`; for kernels that have
/// vector code of their own.
#if defined(__x86_64__)
#define LAZYRT_OF_ISA(isa, name)                     \
  ((isa) == VectorIsa::kAvx512 ? vector_avx512::name \
   : (isa) == VectorIsa::kAvx2 ? vector_avx2::name   \
                               : vector_baseline::name)
#else
#define LAZYRT_OF_ISA(isa, name) ((void)(isa), vector_baseline::name)
#endif

/// Rows of a GEMV panel: outputs are packed in groups of this many (see gemv).
constexpr size_t kGemvPanel = 64;

/// Columns of a gemm panel, and a multiple of rows that every instruction set divides without a
/// remainder.
constexpr size_t kGemmPanel = 16, kGemmRowsMultiple = 12;

/// c[r][j] = clamp(bias[j] + sum_k a[r * lda + k] * panel[k * kGemmPanel + j]), j < columns; a
/// clamp keeps NaN.
struct GemmTile {
  const float* a = nullptr;
  size_t lda = 0, rows = 0;
  const float* panel = nullptr;
  size_t k = 0, columns = kGemmPanel;  ///< columns: 1 to kGemmPanel
  const float* bias = nullptr;         ///< kGemmPanel floats; null: 0
  bool clamped = false;
  float low = 0, high = 0;
  float* c = nullptr;
  size_t ldc = 0;
};

/// Winograd F(4x4, 3x3) evaluates at 0, +-kWinogradA, +-kWinogradB and infinity, in both
/// directions: 36 points. These values are exact in binary; the error measured at 128 channels
/// is 1.8 times that of the direct sum (with the usual 1 and 2: 4 times).
constexpr float kWinogradA = 0.75f, kWinogradB = 1.5f;
constexpr size_t kWinogradPoints = 36;

struct VectorOps {
  const char* isa;
  VectorIsa kind;
  size_t lanes;  ///< elements of a vector; 1: plain scalar code

  /// y[i] = x[i] / by.
  void (*divide)(const float* x, float by, float* y, size_t n);
  /// Sum, largest and smallest of a row; NaN if any element is NaN. sum of 0 elements is 0.
  float (*sum)(const float* x, size_t n);
  float (*max)(const float* x, size_t n);
  float (*min)(const float* x, size_t n);
  /// acc[i] += x[i]; acc[i] = max/min(acc[i], x[i]) with NaN kept.
  void (*add_to)(const float* x, float* acc, size_t n);
  void (*max_to)(const float* x, float* acc, size_t n);
  void (*min_to)(const float* x, float* acc, size_t n);
  /// y[i] = condition[i] ? a[i * step_a] : b[i * step_b]; condition is bytes, steps are 0 or 1.
  void (*select)(const uint8_t* condition, const float* a, size_t step_a, const float* b,
                 size_t step_b, float* y, size_t n);
  /// y[i] = (sum over r of rows[r][i]) * scale; y[i] = max or min over r, NaN kept. count > 0; y
  /// may be a row.
  void (*sum_rows)(const float* const* rows, size_t count, float scale, float* y, size_t n);
  void (*max_rows)(const float* const* rows, size_t count, float* y, size_t n);
  void (*min_rows)(const float* const* rows, size_t count, float* y, size_t n);
  /// acc[i] += a * x[i].
  void (*axpy)(float a, const float* x, float* acc, size_t n);
  /// y[i] = x[i] * scale[i] + shift[i].
  void (*scale_shift)(const float* x, const float* scale, const float* shift, float* y, size_t n);
  /// y[i] = x[i] * scale + shift.
  void (*scale_shift1)(const float* x, float scale, float shift, float* y, size_t n);
  /// Mean and variance (biased) of a row, two passes. n > 0.
  void (*moments)(const float* x, size_t n, float* mean, float* variance);
  /// y = softmax(x) or log_softmax(x). With safe, a row of -inf gives zeros.
  void (*softmax)(const float* x, float* y, size_t n, bool log, bool safe);
  /// y[i] = (x[i] - mean) / sqrt(variance + epsilon) * weight[i] + bias[i]; null weight: 1, null
  /// bias: 0.
  void (*layer_norm)(const float* x, const float* weight, const float* bias, float* y, size_t n,
                     float epsilon);
  /// y[i] = x[i] / sqrt(mean(x^2) + epsilon) * weight[i]; null weight: 1.
  void (*rms_norm)(const float* x, const float* weight, float* y, size_t n, float epsilon);
  /// y[j] = init[j] + sum_k packed[j / 64][k][j % 64] * x[k] for the panels [first, last): y and
  /// init have 64 elements per panel. A null init counts as 0.
  void (*gemv)(const float* packed, const float* x, const float* init, float* y, size_t k,
               size_t first, size_t last);
  /// A product over one panel of columns.
  void (*gemm)(const GemmTile& tile);
  /// Whether gemm is faster than XNNPACK's.
  bool gemm_is_best;
  /// Evaluates 3x3 filters at the points. Their taps are g[(3 * row + column) * kGemmPanel + j], j
  /// < kGemmPanel; point p of filter j goes to u[p * stride + j].
  void (*winograd_filters)(const float* g, float* u, size_t stride);
  /// Evaluates a tile of pixels x[6 * row + column], n channels each, at the points: point p of
  /// channel i goes to v[p * stride + i].
  void (*winograd_input)(const float* const* x, float* v, size_t stride, size_t n);
  /// Computes the 4x4 outputs y[4 * row + column], n channels each, of the tile whose point p of
  /// channel i is m[p * stride + i]: plus bias (null: 0), clamped to [lo, hi], NaN kept. A null y
  /// is left out. m is readable in whole kGemmPanels.
  void (*winograd_output)(const float* m, size_t stride, const float* bias, float lo, float hi,
                          float* const* y, size_t n);
  /// One GRU step. gates_x, gates_h: r, z, n of `hidden` elements, `stride_h` apart in gates_h and
  /// hidden apart in gates_x, biases included. h is read, h_out written.
  void (*gru_gates)(const float* gates_x, const float* gates_h, size_t stride_h, const float* h,
                    float* h_out, size_t hidden);
  /// One LSTM step. gates: i, f, g, o, `stride` apart; c is updated in place.
  void (*lstm_gates)(const float* gates, size_t stride, float* c, float* h_out, size_t hidden);
};

/// The routines for this processor. Constant data.
const VectorOps& vector_ops();

/// Lists all variants that this processor can run, the best first; returns how many. For tests.
constexpr size_t kMaxVectorOps = 3;
size_t all_vector_ops(const VectorOps* (&out)[kMaxVectorOps]);

}  // namespace lazyrt
