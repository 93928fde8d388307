#pragma once

// The common parts of gru and lstm on the cpu: the products with x for all steps at once, then for
// each step one product of the packed recurrent weights with h, and the gates in vectors.

#include <cmath>

#include "kernels/rnn/input_product_cpu.h"
#include "kernels/rnn/rnn.h"
#include "runtime/backends/cpu/cpu_backend.h"

namespace lazyrt {

/// The gates of one step. `x` and `h_sums` are the sums with x and with h, biases included (h_sums
/// may be overwritten); `h` is the state before; `c` the cell state, updated (lstm only); `out`
/// gets h.
using RnnCell = void (*)(const VectorOps& vector, const float* x, float* h_sums, const float* h,
                         float* c, float* out, size_t hidden);

/// An operator each: bounds what a node takes.
constexpr int64_t kMostRnnParts = 64;

/// One layer and direction.
struct RnnPart {
  InputProduct from_x;
  const float* recurrent =
      nullptr;  ///< panels of w_hh (VectorOps::gemv), then b_hh, in the weight store
};

/// One allocation holds this struct and, behind it, its parts.
struct RnnState {
  RnnSizes sizes;
  size_t part_count = 0;

  RnnPart* parts() { return reinterpret_cast<RnnPart*>(this + 1); }
};

/// Offsets of the parts of the workspace, in floats.
struct RnnWorkspace {
  size_t gates, sums, between, total;

  explicit RnnWorkspace(const RnnSizes& s) {
    const auto rounded = [](int64_t n) { return (static_cast<size_t>(n) + 31) / 16 * 16; };
    gates = rounded(s.time * s.batch * s.gate_rows());
    sums = rounded(s.gate_rows() + static_cast<int64_t>(kGemvPanel));
    between = rounded(s.sequence());
    const auto directions = static_cast<size_t>(s.directions);
    total = directions * (gates + static_cast<size_t>(s.batch) * sums) + 2 * between;
  }
};

inline size_t rnn_panels(const RnnSizes& s) {
  return (static_cast<size_t>(s.gate_rows()) + kGemvPanel - 1) / kGemvPanel;
}

inline Fault rnn_supports(Word op, const NodeSpec& node, const RnnSizes& s) {
  if (node.inputs[0].dtype != DType::kFloat32)
    return Fault(Error::kUnsupported, "%s: only f32", op);
  if (s.layers * s.directions > kMostRnnParts) {
    return Fault(Error::kUnsupported, "%s: more than %d layers and directions", op,
                 static_cast<int>(kMostRnnParts));
  }
  if (node.inputs[0].numel() == 0 || s.hidden == 0) {
    return Fault(Error::kUnsupported, "%s: empty operand", op);
  }
  // Bounds all parts of RnnWorkspace, in bytes, and their sum.
  const Work elements = Work(s.time) * Work(s.batch) * Work(s.directions) *
                        Work(s.gate_rows() + s.input + static_cast<int64_t>(4 * kGemvPanel));
  if (elements.steps() > uint64_t{1} << 56) {
    return Fault(Error::kUnsupported, "%s: operands this large", op);
  }
  for (size_t i = s.first_weight(0, 0); i < node.inputs.size(); ++i) {
    if (node.inputs[i].constant == nullptr) {
      return Fault(Error::kUnsupported, "%s: weights are computed at run time", op);
    }
  }
  return {};
}

/// w_hh [G*H, H] as panels [panel][k][kGemvPanel], zero beyond G*H, then b_hh.
inline void pack_recurrent(const RnnSizes& s, const float* w, const float* bias, float* packed) {
  const auto rows = static_cast<size_t>(s.gate_rows());
  const auto hidden = static_cast<size_t>(s.hidden);
  for (size_t j = 0; j < rows; ++j) {
    float* column = packed + j / kGemvPanel * kGemvPanel * hidden + j % kGemvPanel;
    for (size_t k = 0; k < hidden; ++k) column[k * kGemvPanel] = w[j * hidden + k];
  }
  float* packed_bias = packed + rnn_panels(s) * kGemvPanel * hidden;
  for (size_t j = 0; bias != nullptr && j < rows; ++j) packed_bias[j] = bias[j];
}

/// Packs w_hh and b_hh, or finds them.
inline Fault prepare_recurrent(Word op, const CpuServices& cpu, const RnnSizes& s, const float* w,
                               const float* bias, RnnPart* part, PreparedKernel* prepared) {
  PackingTag tag = {Packer::kRecurrent};
  tag.add(s.gate_rows()).add(s.hidden);
  WeightStore::Packing packing(
      cpu.weights, tag, static_cast<size_t>(s.gate_rows() * s.hidden) * sizeof(float), cpu.memory);
  const size_t bytes =
      rnn_panels(s) * kGemvPanel * static_cast<size_t>(s.hidden + 1) * sizeof(float);
  auto* packed = static_cast<float*>(packing.find(w, bias, bytes));
  if (packed == nullptr) {
    packed = static_cast<float*>(packing.insert(w, bias, bytes));
    if (packed == nullptr) return no_memory(op);
    pack_recurrent(s, w, bias, packed);
  }
  part->recurrent = packed;
  prepared->packed_weight_bytes += packing.new_bytes();
  return {};
}

inline Fault prepare_rnn_part(Word op, const PrepareContext& context, const RnnSizes& s,
                              int64_t layer, int64_t direction, RnnPart* part,
                              PreparedKernel* prepared) {
  const auto w = context.node.inputs.subspan(s.first_weight(layer, direction), s.weights());
  const auto data = [&](size_t i) {
    return i < w.size() ? static_cast<const float*>(w[i].constant) : nullptr;
  };
  const CpuServices& cpu = cpu_services(context);
  const auto width = static_cast<size_t>(w[0].shape[1]);
  const auto rows = static_cast<size_t>(s.gate_rows());
  LAZYRT_RETURN_IF_ERROR(prepare_recurrent(op, cpu, s, data(1), data(3), part, prepared));
  return prepare_input_product(op, context, static_cast<size_t>(s.time * s.batch), width, rows,
                               data(0), data(2), &part->from_x, prepared);
}

inline void rnn_release(void* memory, const Allocator& allocator) {
  if (memory == nullptr) return;
  auto* state = static_cast<RnnState*>(memory);
  for (size_t i = 0; i < state->part_count; ++i) {
    release_input_product(state->parts()[i].from_x);
  }
  allocator.release(allocator.context, memory);
}

inline Fault rnn_prepare(Word op, const PrepareContext& context, const RnnSizes& s,
                         PreparedKernel* prepared) {
  static_assert(alignof(RnnPart) <= alignof(RnnState), "parts follow the state");
  const auto count = static_cast<size_t>(s.layers * s.directions);
  void* memory = context.allocator.allocate(context.allocator.context,
                                            sizeof(RnnState) + count * sizeof(RnnPart), kAlignment);
  if (memory == nullptr) return no_memory(op);
  auto* state = new (memory) RnnState{s, count};
  for (size_t i = 0; i < count; ++i) new (&state->parts()[i]) RnnPart();
  prepared->state = state;
  prepared->workspace_bytes = RnnWorkspace(s).total * sizeof(float);
  for (size_t i = 0; i < count; ++i) {
    const auto directions = static_cast<size_t>(s.directions);
    const Fault status =
        prepare_rnn_part(op, context, s, static_cast<int64_t>(i / directions),
                         static_cast<int64_t>(i % directions), &state->parts()[i], prepared);
    if (status.ok()) continue;
    rnn_release(state, context.allocator);
    prepared->state = nullptr;
    return status;
  }
  return {};
}

/// One sequence of the batch in one direction: its rows in gates and y are `step` apart.
struct RnnSequence {
  const float* gates;
  float* y;
  float* h_sums;
  const float* h;  ///< first state, then the last row of y
  float* c;
  int64_t row, row_step;
};

inline const float* run_rnn_sequence(const VectorOps& vector, const RnnSizes& s,
                                     const RnnPart& part, const RnnSequence& q, RnnCell cell) {
  const auto hidden = static_cast<size_t>(s.hidden);
  const size_t panels = rnn_panels(s);
  const float* bias = part.recurrent + panels * kGemvPanel * hidden;
  const float* h = q.h;
  int64_t row = q.row;
  for (int64_t step = 0; step < s.time; ++step, row += q.row_step) {
    float* out = q.y + row * s.directions * s.hidden;
    vector.gemv(part.recurrent, h, bias, q.h_sums, hidden, 0, panels);
    cell(vector, q.gates + row * s.gate_rows(), q.h_sums, h, q.c, out, hidden);
    h = out;
  }
  return h;
}

inline void run_rnn_layer(const RunContext& context, RnnState* state, int64_t layer,
                          float* workspace, float* y, RnnCell cell) {
  const RnnSizes& s = state->sizes;
  const RnnWorkspace at(s);
  const CpuServices& cpu = cpu_services(context);
  float* sums = workspace + static_cast<size_t>(s.directions) * at.gates;
  const auto run_one = [&](int64_t item) {
    const int64_t direction = item / s.batch, b = item % s.batch;
    const int64_t part = layer * s.directions + direction;
    const int64_t offset = (part * s.batch + b) * s.hidden;
    const int64_t first = direction == 0 ? 0 : s.time - 1;
    const int64_t step = (direction == 0 ? 1 : -1) * (s.batch_first ? 1 : s.batch);
    const RnnSequence sequence = {workspace + static_cast<size_t>(direction) * at.gates,
                                  y + direction * s.hidden,
                                  sums + static_cast<size_t>(item) * at.sums,
                                  context.inputs[1].as<const float>() + offset,
                                  s.states == 2 ? context.outputs[2].as<float>() + offset : nullptr,
                                  s.batch_first ? b * s.time + first : first * s.batch + b,
                                  step};
    const float* last = run_rnn_sequence(*cpu.vector, s, state->parts()[part], sequence, cell);
    copy_bytes(context.outputs[1].as<float>() + offset, last,
               static_cast<size_t>(s.hidden) * sizeof(float));
  };
  parallel_for(cpu, static_cast<size_t>(s.directions * s.batch), 1, [&](size_t begin, size_t end) {
    for (size_t i = begin; i < end; ++i) run_one(static_cast<int64_t>(i));
  });
}

inline Fault rnn_run(Word op, RnnState* state, const RunContext& context, RnnCell cell) {
  const RnnSizes& s = state->sizes;
  const RnnWorkspace at(s);
  const CpuServices& cpu = cpu_services(context);
  auto* workspace = static_cast<float*>(context.workspace);
  float* between = workspace + static_cast<size_t>(s.directions) *
                                   (at.gates + static_cast<size_t>(s.batch) * at.sums);
  if (s.states == 2) {
    copy_bytes(context.outputs[2].data, context.inputs[2].data, context.outputs[2].bytes());
  }
  const float* x = context.inputs[0].as<const float>();
  for (int64_t layer = 0; layer < s.layers; ++layer) {
    for (int64_t d = 0; d < s.directions; ++d) {
      const RnnPart& part = state->parts()[layer * s.directions + d];
      float* gates = workspace + static_cast<size_t>(d) * at.gates;
      if (context.rebind) LAZYRT_RETURN_IF_ERROR(bind_input_product(op, part.from_x, x, gates));
      LAZYRT_RETURN_IF_ERROR(run_input_product(op, part.from_x, cpu, x, gates));
    }
    float* y = layer == s.layers - 1 ? context.outputs[0].as<float>()
                                     : between + static_cast<size_t>(layer % 2) * at.between;
    run_rnn_layer(context, state, layer, workspace, y, cell);
    x = y;
  }
  return {};
}

}  // namespace lazyrt
