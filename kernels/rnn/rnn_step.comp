#version 450
// One time step of one direction of lstm or gru, all of a batch. Eight invocations sum up the gates of one element of
// the hidden state.
#include "linear.glsl"
#include "operands.glsl"
#include "math.glsl"

layout(constant_id = 0) const uint kGates = 4;  // 4: lstm (i, f, g, o), 3: gru (r, z, n)
const uint kLanes = 8u, kElements = 8u;

PUSH
  uint batch;
  uint hidden;
  uint gates_at;  // the input's part of the gates, and the distance from one sequence of the batch to the next
  uint gates_step;
  uint y_at;
  uint y_step;
  uint from;  // places in the states
  uint to;
  uint cell;
  uint bias;
  uint has_bias;
PUSH_END

OPERAND(0, readonly, gates);
OPERAND(1, readonly, weight);
OPERAND(2, , states);
OPERAND(3, writeonly, y);

#define GATE(i) uintBitsToFloat(WORD(gates, 0, i))
#define WEIGHT(i) uintBitsToFloat(WORD(weight, 1, i))
#define STATE(i) uintBitsToFloat(WORD(states, 2, i))

shared vec4 sums[64];  // of each gate

float sigmoid(float x) { return 1.0 / (1.0 + exp_of(-x)); }

/// `x`, `h`: what the input and the hidden state give to each gate.
float next_hidden(vec4 x, vec4 h, uint own) {
  if (kGates == 4u) {
    const float c = sigmoid(x[1] + h[1]) * STATE(push.cell + own) + sigmoid(x[0] + h[0]) * tanh_of(x[2] + h[2]);
    WORD(states, 2, push.cell + own) = floatBitsToUint(c);
    return sigmoid(x[3] + h[3]) * tanh_of(c);
  }
  const float r = sigmoid(x[0] + h[0]), z = sigmoid(x[1] + h[1]);
  const float n = tanh_of(x[2] + r * h[2]);
  return n + z * (STATE(push.from + own) - n);
}

void main() {
  const uint blocks = (push.hidden + kElements - 1u) / kElements;
  const uint group = invocation() / 64u;
  const uint b = group / blocks;
  if (b >= push.batch) return;
  const uint id = gl_LocalInvocationIndex, lane = id % kLanes;
  const uint k = group % blocks * kElements + id / kLanes;
  vec4 sum = vec4(0.0);
  if (k < push.hidden) {
    const uint row = k * push.hidden, gate = push.hidden * push.hidden, h = push.from + b * push.hidden;
    for (uint j = lane; j < push.hidden; j += kLanes) {
      const float state = STATE(h + j);
      sum.x += WEIGHT(row + j) * state;
      sum.y += WEIGHT(gate + row + j) * state;
      sum.z += WEIGHT(2u * gate + row + j) * state;
      if (kGates == 4u) sum.w += WEIGHT(3u * gate + row + j) * state;
    }
  }
  sums[id] = sum;
  barrier();
  if (lane != 0u || k >= push.hidden) return;
  vec4 h = vec4(0.0);
  for (uint i = 0u; i < kLanes; ++i) h += sums[id + i];
  const uint at = push.gates_at + b * push.gates_step + k;
  vec4 x = vec4(GATE(at), GATE(at + push.hidden), GATE(at + 2u * push.hidden), 0.0);
  if (kGates == 4u) x.w = GATE(at + 3u * push.hidden);
  if (push.has_bias != 0u) {
    const uint bias = push.bias + k;
    h.xyz += vec3(STATE(bias), STATE(bias + push.hidden), STATE(bias + 2u * push.hidden));
    if (kGates == 4u) h.w += STATE(bias + 3u * push.hidden);
  }
  const uint own = b * push.hidden + k;
  const uint bits = floatBitsToUint(next_hidden(x, h, own));
  WORD(states, 2, push.to + own) = bits;
  WORD(y, 3, push.y_at + b * push.y_step + k) = bits;
}
