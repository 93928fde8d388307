#pragma once

// A product with constant weights, as one XNNPACK operator or, if the weights are larger than the
// L2 cache, as several over ranges of output channels: for every few rows of x XNNPACK reads all
// weights of an operator, which would otherwise come from memory again and again.

#include <algorithm>

#include "runtime/backends/cpu/cpu_backend.h"
#include "runtime/backends/cpu/xnn_op.h"

namespace lazyrt {

/// State of such a kernel: operators over `columns` output channels each, the last one over the
/// remaining channels.
struct XnnPanels {
  static constexpr size_t kMost = 64;
  size_t channels = 0;
  size_t columns = 0;
  size_t count = 0;
  xnn_operator_t ops[kMost] = {};
};

/// Output channels of a panel. Measured on Zen 3 (512 KiB of L2), one thread: in panels, weights of
/// 4 to 9 MiB are up to a quarter faster and weights of 32 MiB 2.2 times as fast; up to 2 MiB one
/// piece is as fast, and panels narrower than 128 channels read x too often.
inline size_t panel_columns(size_t weights_of_a_channel, size_t channels) {
  constexpr size_t kWhole = size_t{1} << 19, kPanel = size_t{1} << 16;  // floats
  constexpr size_t kTile = 16, kFewest = 128;
  if (weights_of_a_channel <= kWhole / channels) return channels;
  const size_t wanted = std::max({kPanel / weights_of_a_channel, kFewest,
                                  (channels + XnnPanels::kMost - 1) / XnnPanels::kMost});
  return std::min((wanted + kTile - 1) / kTile * kTile, channels);
}

/// Calls create(first channel, channels, &op), which returns a Fault, for each panel. After a
/// failure, operators made so far stay in the state, which releases them.
template <class Create>
Fault create_panels(XnnPanels* panels, size_t weights_of_a_channel, size_t channels,
                    const Create& create) {
  panels->channels = channels;
  panels->columns = panel_columns(weights_of_a_channel, channels);
  for (size_t first = 0; first < channels; first += panels->columns) {
    const size_t columns = std::min(panels->columns, channels - first);
    LAZYRT_RETURN_IF_ERROR(create(first, columns, &panels->ops[panels->count]));
    ++panels->count;
  }
  return {};
}

/// Calls fn(op, first channel), which returns a Fault, for each panel.
template <class Fn>
Fault for_each_panel(const XnnPanels& panels, const Fn& fn) {
  for (size_t i = 0; i < panels.count; ++i) {
    LAZYRT_RETURN_IF_ERROR(fn(panels.ops[i], i * panels.columns));
  }
  return {};
}

inline Fault run_panels(Word call, const XnnPanels& panels, const CpuServices& cpu) {
  return for_each_panel(panels, [&](xnn_operator_t op, size_t) { return run_xnn(call, op, cpu); });
}

/// Kernel::release of such kernels.
inline void release_panels(void* state, const Allocator& allocator) {
  if (state == nullptr) return;
  for (xnn_operator_t op : static_cast<XnnPanels*>(state)->ops) {
    release_xnn_op(op);
  }
  allocator.release(allocator.context, state);
}

}  // namespace lazyrt
