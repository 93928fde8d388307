#pragma once

// A product of rows of x with constant weights by VectorOps::gemm: what linear, 1x1 convolution and
// transposed convolution without overlap are.

#include <algorithm>
#include <cmath>

#include "runtime/backends/cpu/cpu_backend.h"

namespace lazyrt {

/// y[r][j] = clamp(bias[j] + sum_k x[r][k] * w[j][k]). The packed weights lie in the weight store:
/// panels [(columns + 15) / 16][k][kGemmPanel], zero beyond the columns, then bias.
struct GemmPanels {
  const float* packed = nullptr;
  size_t k = 0, columns = 0;

  size_t panels() const { return (columns + kGemmPanel - 1) / kGemmPanel; }
  const float* bias() const { return packed + panels() * k * kGemmPanel; }
};

/// A matrix of rows; `y` and `x` may be parts of wider ones.
struct GemmRows {
  const float* x = nullptr;
  size_t ldx = 0, rows = 0;
  float* y = nullptr;
  size_t ldy = 0;
  float low = 0, high = 0;
};

/// Whether such a product is faster: gemm takes six rows at once, and the panel should be filled.
/// Without XNNPACK there is no alternative.
inline bool gemm_pays(const VectorOps& vector, size_t rows, size_t k, size_t columns) {
  if (!LAZYRT_HAS_XNNPACK) return true;
  return vector.gemm_is_best && rows >= 6 && k >= 8 && columns >= 8;
}

/// Packs the weights row(j) -> k floats and bias(j) of each column j, or finds them in the store
/// under (w, b) and the packing's tag. False: no memory.
template <class Row, class Bias>
bool pack_gemm(WeightStore::Packing* packing, const float* w, const float* b, size_t k,
               size_t columns, const Row& row, const Bias& bias, GemmPanels* panels) {
  *panels = {nullptr, k, columns};
  const size_t bytes = panels->panels() * (k + 1) * kGemmPanel * sizeof(float);
  panels->packed = static_cast<const float*>(packing->find(w, b, bytes));
  if (panels->packed != nullptr) return true;
  auto* packed = static_cast<float*>(packing->insert(w, b, bytes));
  if (packed == nullptr) return false;
  panels->packed = packed;
  // Works on short ranges of k, so that both sides stay in the cache.
  constexpr size_t kPiece = 64;
  for (size_t first = 0; first < columns; first += kGemmPanel) {
    const size_t count = std::min(kGemmPanel, columns - first);
    for (size_t from = 0; from < k; from += kPiece) {
      const size_t to = std::min(from + kPiece, k);
      for (size_t j = 0; j < count; ++j) {
        const float* weights = row(first + j);
        float* column = packed + first * k + j;
        for (size_t i = from; i < to; ++i) column[i * kGemmPanel] = weights[i];
      }
    }
  }
  float* packed_bias = packed + panels->panels() * k * kGemmPanel;
  for (size_t j = 0; b != nullptr && j < columns; ++j) packed_bias[j] = bias(j);
  return true;
}

/// The same of w [columns][k] and b [columns] or null.
inline bool pack_gemm(WeightStore::Packing* packing, const float* w, const float* b, size_t k,
                      size_t columns, GemmPanels* panels) {
  return pack_gemm(
      packing, w, b, k, columns, [=](size_t j) { return w + j * k; },
      [=](size_t j) { return b[j]; }, panels);
}

/// What Kernel::prepare does for a product with constant weights, the node's inputs[1] [columns,
/// ...], and a constant or absent bias.
inline Fault prepare_gemm(Word op, const PrepareContext& context, const TensorSpec& bias,
                          GemmPanels* panels, PreparedKernel* prepared) {
  const TensorSpec& weight = context.node.inputs[1];
  const auto columns = static_cast<size_t>(weight.shape[0]);
  PackingTag tag = {Packer::kRowPanels};
  tag.add(weight.numel()).add(weight.shape[0]);
  const CpuServices& cpu = cpu_services(context);
  WeightStore::Packing packing(cpu.weights, tag, weight.bytes(), cpu.memory);
  if (!pack_gemm(&packing, static_cast<const float*>(weight.constant),
                 static_cast<const float*>(bias.constant),
                 static_cast<size_t>(weight.numel()) / columns, columns, panels)) {
    return no_memory(op);
  }
  prepared->packed_weight_bytes = packing.new_bytes();
  return {};
}

#if !LAZYRT_HAS_XNNPACK

/// Bytes of workspace for panels of weights that are given at each run. kUnsupported: too many.
inline Fault passing_panels_bytes(const char* op, size_t k, size_t columns, size_t* bytes) {
  const GemmPanels panels = {nullptr, k, columns};
  size_t floats = 0;
  if (__builtin_mul_overflow(panels.panels() * kGemmPanel, k + 1, &floats) ||
      __builtin_mul_overflow(floats, sizeof(float), bytes)) {
    return Fault(Error::kUnsupported, "%s: operands this large", op);
  }
  return {};
}

/// Lays out w [columns][k] or, not `by_columns`, w [k][columns], and bias [columns] or null, in
/// `scratch` of passing_panels_bytes().
inline GemmPanels pack_passing(const CpuServices& cpu, const float* w, bool by_columns,
                               const float* bias, size_t k, size_t columns, void* scratch) {
  auto* packed = static_cast<float*>(scratch);
  const GemmPanels panels = {packed, k, columns};
  const size_t step_column = by_columns ? k : 1, step_k = by_columns ? 1 : columns;
  parallel_for(cpu, panels.panels(), grain_of(k * kGemmPanel), [&](size_t begin, size_t end) {
    for (size_t p = begin; p < end; ++p) {
      const size_t first = p * kGemmPanel, count = std::min(kGemmPanel, columns - first);
      float* panel = packed + first * k;
      for (size_t i = 0; i < k; ++i, panel += kGemmPanel) {
        const float* row = w + first * step_column + i * step_k;
        for (size_t j = 0; j < count; ++j) panel[j] = row[j * step_column];
        for (size_t j = count; j < kGemmPanel; ++j) panel[j] = 0;
      }
    }
  });
  float* packed_bias = packed + panels.panels() * k * kGemmPanel;
  for (size_t j = 0; j < panels.panels() * kGemmPanel; ++j) {
    packed_bias[j] = bias != nullptr && j < columns ? bias[j] : 0;
  }
  return panels;
}

#endif

/// The panels [first, last) of some rows.
inline void gemm_part(const VectorOps& vector, const GemmPanels& panels, const GemmRows& rows,
                      size_t first, size_t last) {
  GemmTile tile;
  tile.a = rows.x, tile.lda = rows.ldx, tile.rows = rows.rows, tile.k = panels.k;
  tile.low = rows.low, tile.high = rows.high;
  tile.clamped = rows.low > -HUGE_VALF || rows.high < HUGE_VALF;
  tile.ldc = rows.ldy;
  for (size_t p = first; p < last; ++p) {
    tile.panel = panels.packed + p * panels.k * kGemmPanel;
    tile.bias = panels.bias() + p * kGemmPanel;
    tile.columns = std::min(kGemmPanel, panels.columns - p * kGemmPanel);
    tile.c = rows.y + p * kGemmPanel;
    vector.gemm(tile);
  }
}

/// How a product is shared among threads: blocks of some fifty rows or more, which stay in the
/// cache while the panels pass, and where these are few, groups of panels.
struct GemmShares {
  size_t block, blocks, group, groups;

  /// A block has at most `most` rows, a multiple of kGemmRowsMultiple.
  GemmShares(const CpuServices& cpu, const GemmPanels& panels, size_t rows,
             size_t most = SIZE_MAX) {
    constexpr size_t kRows = 48, kWork = size_t{1} << 18;  // multiplications worth a thread
    const size_t of_a_panel = panels.k * kGemmPanel;
    const size_t least = std::max(kRows, kWork / (of_a_panel * panels.panels()));
    const size_t wanted = std::max(rows / least, size_t{1});
    const size_t even = (rows + wanted - 1) / wanted;
    block = std::min(most, (even + kGemmRowsMultiple - 1) / kGemmRowsMultiple * kGemmRowsMultiple);
    blocks = (rows + block - 1) / block;
    const size_t pieces = (4 * static_cast<size_t>(cpu.threads) + blocks - 1) / blocks;
    group = cpu.pool == nullptr ? panels.panels()
                                : std::max((panels.panels() + pieces - 1) / pieces,
                                           std::max(kWork / (of_a_panel * block), size_t{1}));
    groups = (panels.panels() + group - 1) / group;
  }
};

/// The whole product, on the session's threads.
inline void run_gemm(const CpuServices& cpu, const GemmPanels& panels, const GemmRows& all) {
  const GemmShares shares(cpu, panels, all.rows);
  parallel_items(cpu, shares.blocks * shares.groups, [&](size_t, size_t item) {
    const size_t row = item / shares.groups * shares.block;
    GemmRows part = all;
    part.x += row * all.ldx, part.y += row * all.ldy;
    part.rows = std::min(shares.block, all.rows - row);
    const size_t first = item % shares.groups * shares.group;
    gemm_part(*cpu.vector, panels, part, first, std::min(first + shares.group, panels.panels()));
  });
}

/// The whole product of a node: rows of inputs[0] give rows of outputs[0].
inline void run_gemm(const RunContext& context, const GemmPanels& panels, float low, float high) {
  const TensorView& y = context.outputs[0];
  run_gemm(
      cpu_services(context), panels,
      {context.inputs[0].as<const float>(), panels.k,
       static_cast<size_t>(y.numel()) / panels.columns, y.as<float>(), panels.columns, low, high});
}

}  // namespace lazyrt
