#pragma once

// The common parts of gru and lstm: operands, shapes, the walk over layers, directions and time.

#include "kernels/common/arithmetic.h"
#include "kernels/common/check.h"
#include "kernels/common/copy.h"
#include "kernels/common/element.h"

namespace lazyrt {

/// Sizes of a recurrent network. `gates` and `states` (hidden, cell) depend on the op.
struct RnnSizes {
  int gates, states;
  int64_t time, batch, input, hidden, layers, directions;
  bool batch_first, has_bias;

  /// Operands of one layer and direction: w_ih, w_hh and perhaps b_ih, b_hh.
  size_t weights() const { return has_bias ? 4 : 2; }
  size_t first_weight(int64_t layer, int64_t direction) const {
    return 1 + static_cast<size_t>(states) +
           static_cast<size_t>(layer * directions + direction) * weights();
  }
  int64_t gate_rows() const { return gates * hidden; }
  int64_t sequence() const { return time * batch * directions * hidden; }
  /// Elements of scratch: two gate vectors, then the sequences between layers.
  int64_t workspace() const {
    const int64_t between = layers > 2 ? 2 : layers - 1;
    return 2 * gate_rows() + between * sequence();
  }
};

/// REQUIRES: x and h0 have three dims.
template <class Table>
RnnSizes rnn_sizes(const Table& a, int gates, int states, const Shape& x, const Shape& h0) {
  const int t = a.batch_first() ? 1 : 0;
  return {gates,
          states,
          x[t],
          x[1 - t],
          x[2],
          h0[2],
          a.layers(),
          a.bidirectional() ? 2 : 1,
          a.batch_first(),
          a.has_bias()};
}

/// The shape rule of both ops.
template <class Table>
Fault infer_rnn(Word op, const Table& a, int gates, int states, Span<const TensorSpec> in,
                Span<TensorSpec> out) {
  LAZYRT_RETURN_IF_ERROR(check_dtype(op, "x", in[0], kFloatTypes));
  LAZYRT_RETURN_IF_ERROR(check_rank(op, "x", in[0], 3));
  LAZYRT_RETURN_IF_ERROR(check_rank(op, "h0", in[1], 3));
  LAZYRT_RETURN_IF_ERROR(check_range(op, "layers", a.layers(), 1, 1 << 16));
  const DType dtype = in[0].dtype;
  const RnnSizes s = rnn_sizes(a, gates, states, in[0].shape, in[1].shape);
  const Shape state = {s.layers * s.directions, s.batch, s.hidden};
  LAZYRT_RETURN_IF_ERROR(check_range(op, "number of operands", static_cast<int64_t>(in.size()),
                                     static_cast<int64_t>(s.first_weight(s.layers, 0)),
                                     static_cast<int64_t>(s.first_weight(s.layers, 0))));
  LAZYRT_RETURN_IF_ERROR(check_range(op, "hidden size", s.hidden, 0, INT32_MAX));
  for (int i = 0; i < states; ++i) {
    const size_t at = 1 + static_cast<size_t>(i);
    LAZYRT_RETURN_IF_ERROR(check_operand(op, i == 0 ? "h0" : "c0", in[at], dtype, state));
    LAZYRT_RETURN_IF_ERROR(set_output(op, &out[at], dtype, state));
  }
  for (int64_t cell = 0; cell < s.layers * s.directions; ++cell) {
    const Span<const TensorSpec> w = in.subspan(s.first_weight(0, cell), s.weights());
    const int64_t width = cell < s.directions ? s.input : s.directions * s.hidden;
    LAZYRT_RETURN_IF_ERROR(check_operand(op, "w_ih", w[0], dtype, Shape{s.gate_rows(), width}));
    LAZYRT_RETURN_IF_ERROR(check_operand(op, "w_hh", w[1], dtype, Shape{s.gate_rows(), s.hidden}));
    for (size_t i = 2; i < s.weights(); ++i) {
      LAZYRT_RETURN_IF_ERROR(check_operand(op, "a bias", w[i], dtype, Shape{s.gate_rows()}));
    }
  }
  Shape y = in[0].shape;
  y[2] = s.directions * s.hidden;
  return set_output(op, &out[0], dtype, y);
}

/// The work rule of both ops: each step's products with both weights, and its gates.
template <class Table>
Work rnn_work(const Table& a, int gates, int states, Span<const TensorSpec> in) {
  const RnnSizes s = rnn_sizes(a, gates, states, in[0].shape, in[1].shape);
  const Work steps = trips(s.time) * trips(s.batch);
  const Work rows = trips(s.gate_rows());
  const Work wide = trips(s.input) + trips(s.hidden) + kMathCall;
  const Work deep = trips(s.directions * s.hidden) + trips(s.hidden) + kMathCall;
  const Work cells = wide + Work(s.layers - 1) * deep;
  return steps * rows * Work(s.directions) * cells + volume(in[0].shape);
}

/// Sequences of vectors; steps in elements.
template <class T>
struct Sequence {
  T* data;
  int64_t time_step, batch_step, width;

  T* at(int64_t t, int64_t b) const { return data + t * time_step + b * batch_step; }
};
template <class T>
Sequence<T> make_sequence(T* data, const RnnSizes& s, int64_t width, bool batch_first) {
  if (batch_first) return {data, width, s.time * width, width};
  return {data, s.batch * width, width, width};
}

/// gates = weight x + bias.
template <class T>
void gate_sums(const TensorView& weight, const T* bias, const T* x, T* gates) {
  const int64_t width = weight.shape[1];
  for (int64_t i = 0; i < weight.shape[0]; ++i) {
    gates[i] = dot(weight.as<const T>() + i * width, x, width) + (bias == nullptr ? T(0) : bias[i]);
  }
}

/// One layer in one direction. Cell updates h (and c): cell(x gates, h gates, h, c, hidden).
template <class T, class Cell>
void run_direction(const RunContext& context, const RnnSizes& s, int64_t layer, int64_t direction,
                   const Sequence<const T>& x, const Sequence<T>& y, Cell cell) {
  const auto w = context.inputs.subspan(s.first_weight(layer, direction), s.weights());
  T* from_x = static_cast<T*>(context.workspace);
  T* from_h = from_x + s.gate_rows();
  const int64_t state = (layer * s.directions + direction) * s.batch * s.hidden;
  T* h = context.outputs[1].as<T>() + state;
  T* c = s.states == 2 ? context.outputs[2].as<T>() + state : h;
  for (int64_t step = 0; step < s.time; ++step) {
    const int64_t t = direction == 0 ? step : s.time - 1 - step;
    for (int64_t b = 0; b < s.batch; ++b) {
      gate_sums(w[0], s.has_bias ? w[2].as<const T>() : nullptr, x.at(t, b), from_x);
      gate_sums(w[1], s.has_bias ? w[3].as<const T>() : nullptr,
                static_cast<const T*>(h + b * s.hidden), from_h);
      cell(from_x, from_h, h + b * s.hidden, c + b * s.hidden, s.hidden);
      T* out = y.at(t, b) + direction * s.hidden;
      for (int64_t i = 0; i < s.hidden; ++i) out[i] = h[b * s.hidden + i];
    }
  }
}

/// All layers. The final states are the working states: they live in the outputs.
template <class T, class Cell>
Fault run_rnn(const RunContext& context, const RnnSizes& s, Cell cell) {
  for (int i = 1; i <= s.states; ++i) {
    const auto at = static_cast<size_t>(i);
    copy_bytes(context.outputs[at].data, context.inputs[at].data, context.outputs[at].bytes());
  }
  T* between = static_cast<T*>(context.workspace) + 2 * s.gate_rows();
  const int64_t width = s.directions * s.hidden;
  Sequence<const T> x = make_sequence(context.inputs[0].as<const T>(), s, s.input, s.batch_first);
  for (int64_t layer = 0; layer < s.layers; ++layer) {
    const bool is_last = layer == s.layers - 1;
    T* to = is_last ? context.outputs[0].as<T>() : between + layer % 2 * s.sequence();
    const Sequence<T> y = make_sequence(to, s, width, is_last && s.batch_first);
    for (int64_t d = 0; d < s.directions; ++d) run_direction(context, s, layer, d, x, y, cell);
    x = {y.data, y.time_step, y.batch_step, width};
  }
  return Fault();
}

}  // namespace lazyrt
