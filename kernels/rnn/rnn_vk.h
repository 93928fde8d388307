#pragma once

// The common parts of gru and lstm on Vulkan: for each layer and direction one product for the
// input's part of all gates, then a dispatch for each time step.

#include "kernels/common/gemm_vk.h"
#include "kernels/rnn/rnn.h"

namespace lazyrt {

extern const Shader rnn_step_shader;

/// The layout of the workspace, in floats.
class RnnPlaces {
 public:
  explicit RnnPlaces(const RnnSizes& s)
      : hidden_(aligned(s.batch * s.hidden)),
        states_(aligned(s.time * s.batch * s.gate_rows())),
        between_(states_ + cell_at() + hidden_ + aligned(s.gate_rows())),
        sequence_(aligned(s.sequence())) {}

  int64_t gates_bytes() const { return states_ * kFloat; }
  int64_t state_bytes() const { return (between_ - states_) * kFloat; }
  int64_t bytes(const RnnSizes& s) const {
    return (between_ + (s.layers > 2 ? 2 : s.layers - 1) * sequence_) * kFloat;
  }
  float* states(void* workspace) const { return static_cast<float*>(workspace) + states_; }
  float* between(void* workspace, int64_t layer) const {
    return static_cast<float*>(workspace) + between_ + layer % 2 * sequence_;
  }
  // Offsets within the states: h twice, c, and the bias of h's part of the gates.
  int64_t hidden_at(int64_t step) const { return step % 2 * hidden_; }
  int64_t cell_at() const { return 2 * hidden_; }
  int64_t bias_at() const { return 3 * hidden_; }

 private:
  static constexpr int64_t kFloat = sizeof(float);
  static int64_t aligned(int64_t floats) { return (floats + 15) / 16 * 16; }
  int64_t hidden_, states_, between_, sequence_;
};

inline Fault rnn_shader_supports(const char* op, const NodeSpec& node, const RnnSizes& s) {
  if (node.inputs[0].dtype != DType::kFloat32) return no_shader(op, node.inputs[0].dtype);
  const auto most =
      static_cast<int64_t>(kVulkanFloor.storage_range - kVulkanFloor.offset_alignment);
  const RnnPlaces places(s);
  const int64_t largest = std::max(places.gates_bytes(), places.state_bytes());
  if (largest <= most) return {};
  return Fault(Error::kUnsupported,
               "%s: the gates or states of all steps take %lld bytes; at most %lld can be bound",
               op, static_cast<long long>(largest), static_cast<long long>(most));
}

/// Sequences in the device's memory: rows of `width` floats.
struct RnnRows {
  float* data;
  int64_t time_step, batch_step;  ///< in rows
  int64_t width;

  VulkanOperand operand(const RnnSizes& s, bool written) const {
    const auto bytes = static_cast<uint64_t>(s.time * s.batch * width) * sizeof(float);
    return written ? writes(data, bytes) : reads(data, bytes);
  }
};

struct RnnPush {
  uint32_t batch, hidden, gates_at, gates_step, y_at, y_step, from, to, cell, bias, has_bias;
};

class RnnRecorder {
 public:
  RnnRecorder(const RunContext& context, const RnnSizes& sizes)
      : recorder_(recorder_of(context)), context_(context), s_(sizes), at_(sizes) {}

  Fault record() {
    if (context_.outputs[0].numel() == 0 && context_.outputs[1].numel() == 0) return {};
    if (s_.time == 0) return copy_states();
    RnnRows x = sequence(context_.inputs[0].as<float>(), s_.input, s_.batch_first);
    for (int64_t layer = 0; layer < s_.layers; ++layer) {
      const bool is_last = layer == s_.layers - 1;
      float* to =
          is_last ? context_.outputs[0].as<float>() : at_.between(context_.workspace, layer);
      const RnnRows y = sequence(to, s_.directions * s_.hidden, is_last && s_.batch_first);
      for (int64_t d = 0; d < s_.directions; ++d)
        LAZYRT_RETURN_IF_ERROR(record_direction(layer, d, x, y));
      x = y;
    }
    return {};
  }

 private:
  RnnRows sequence(float* data, int64_t width, bool batch_first) const {
    if (batch_first) return {data, 1, s_.time, width};
    return {data, s_.batch, 1, width};
  }
  uint64_t state_bytes() const {
    return static_cast<uint64_t>(s_.batch * s_.hidden) * sizeof(float);
  }
  float* states() const { return at_.states(context_.workspace); }

  Fault copy_states() {
    for (int i = 1; i <= s_.states; ++i) {
      const TensorView& to = context_.outputs[static_cast<size_t>(i)];
      LAZYRT_RETURN_IF_ERROR(
          recorder_.copy(to.data, context_.inputs[static_cast<size_t>(i)].data, to.bytes()));
    }
    return {};
  }

  Fault record_direction(int64_t layer, int64_t d, const RnnRows& x, const RnnRows& y) {
    const auto w = context_.inputs.subspan(s_.first_weight(layer, d), s_.weights());
    const int64_t own = (layer * s_.directions + d) * s_.batch * s_.hidden;
    const auto state = [&](Span<const TensorView> of, size_t i) { return of[i].as<float>() + own; };
    LAZYRT_RETURN_IF_ERROR(record_product(w, x));
    LAZYRT_RETURN_IF_ERROR(
        recorder_.copy(states() + at_.hidden_at(0), state(context_.inputs, 1), state_bytes()));
    if (s_.states == 2)
      LAZYRT_RETURN_IF_ERROR(
          recorder_.copy(states() + at_.cell_at(), state(context_.inputs, 2), state_bytes()));
    if (s_.has_bias)
      LAZYRT_RETURN_IF_ERROR(recorder_.copy(states() + at_.bias_at(), w[3].data, w[3].bytes()));
    for (int64_t step = 0; step < s_.time; ++step) {
      const int64_t t = d == 0 ? step : s_.time - 1 - step;
      LAZYRT_RETURN_IF_ERROR(record_step(w[1], step, t, d, x, y));
    }
    LAZYRT_RETURN_IF_ERROR(recorder_.copy(state(context_.outputs, 1),
                                          states() + at_.hidden_at(s_.time), state_bytes()));
    if (s_.states != 2) return {};
    return recorder_.copy(state(context_.outputs, 2), states() + at_.cell_at(), state_bytes());
  }

  /// Records the input's part of all gates, with its bias.
  Fault record_product(Span<const TensorView> w, const RnnRows& x) {
    Gemm gemm;
    gemm.push.rows = static_cast<uint32_t>(s_.time * s_.batch);
    gemm.push.columns = static_cast<uint32_t>(s_.gate_rows());
    gemm.push.depth = gemm.push.a_pitch = gemm.push.b_pitch = static_cast<uint32_t>(x.width);
    gemm.push.flags = GemmPush::kByDepth;
    gemm.operands.a = x.operand(s_, false);
    gemm.operands.b = reads(w[0]);
    if (s_.has_bias) gemm.operands.bias = reads(w[2]);
    gemm.operands.y = gates(true);
    return record_gemm(recorder_, gemm);
  }

  VulkanOperand gates(bool written) const {
    const auto bytes = static_cast<uint64_t>(s_.time * s_.batch * s_.gate_rows()) * sizeof(float);
    return written ? writes(context_.workspace, bytes) : reads(context_.workspace, bytes);
  }

  Fault record_step(const TensorView& weight, int64_t step, int64_t t, int64_t d, const RnnRows& x,
                    const RnnRows& y) {
    const auto number = [](int64_t n) { return static_cast<uint32_t>(n); };
    const RnnPush push = {number(s_.batch),
                          number(s_.hidden),
                          number(t * x.time_step * s_.gate_rows()),
                          number(x.batch_step * s_.gate_rows()),
                          number(t * y.time_step * y.width + d * s_.hidden),
                          number(y.batch_step * y.width),
                          number(at_.hidden_at(step)),
                          number(at_.hidden_at(step + 1)),
                          number(at_.cell_at()),
                          number(at_.bias_at()),
                          s_.has_bias ? 1U : 0U};
    const uint32_t constants[] = {number(s_.gates)};
    const VulkanOperand operands[] = {gates(false), reads(weight),
                                      updates(states(), static_cast<uint64_t>(at_.state_bytes())),
                                      y.operand(s_, true)};
    const auto groups = static_cast<uint64_t>(s_.batch * ((s_.hidden + 7) / 8));
    return recorder_.dispatch(rnn_step_shader, constants, operands, push,
                              spread_groups(recorder_, groups));
  }

  Recorder& recorder_;
  const RunContext& context_;
  const RnnSizes& s_;
  const RnnPlaces at_;
};

/// The functions of a kernel, without the operator's name. kGates and kStates as in RnnSizes.
template <class Table, int kGates, int kStates>
struct RnnKernel {
  static RnnSizes sizes_of(const OpAttrs& attrs, const Shape& x, const Shape& h0) {
    return rnn_sizes(attrs.as<Table>(), kGates, kStates, x, h0);
  }
  static RnnSizes sizes_of(const NodeSpec& node) {
    return sizes_of(node.attrs, node.inputs[0].shape, node.inputs[1].shape);
  }
  static Fault supports(const char* op, const NodeSpec& node) {
    return rnn_shader_supports(op, node, sizes_of(node));
  }
  static Fault prepare(const PrepareContext& context, PreparedKernel* prepared) {
    const RnnSizes s = sizes_of(context.node);
    prepared->workspace_bytes = static_cast<size_t>(RnnPlaces(s).bytes(s));
    return {};
  }
  static Fault run(void*, const RunContext& context) {
    const RnnSizes s = sizes_of(context.attrs, context.inputs[0].shape, context.inputs[1].shape);
    return RnnRecorder(context, s).record();
  }
};

}  // namespace lazyrt
