// Batches of products of matrices of integers; an invocation makes four elements.

#include "linear.glsl"
#include "gemm_push.glsl"
#include "elements.glsl"
#ifdef IS_I64
#include "int64.glsl"
#endif

layout(constant_id = 0) const uint kType = kI32;
const uint kByDepth = 8u;  // b is [columns, depth]

OPERAND(0, readonly, a);
OPERAND(1, readonly, b);
OPERAND(2, writeonly, y);

T element(uint i) {
  const uint row = i / push.columns % push.rows, column = i % push.columns;
  uint at_a, at_b;
  find_batch(i / push.columns / push.rows, at_a, at_b);
  at_a += row * push.a_pitch;
  const bool by_depth = (push.flags & kByDepth) != 0u;
  at_b += by_depth ? column * push.b_pitch : column;
  const uint step = by_depth ? 1u : push.b_pitch;
  T sum = T(0);
  for (uint k = 0u; k < push.depth; ++k, ++at_a, at_b += step) {
#ifdef IS_I64
    sum = add64(sum, mul64(LOAD_I64(a, 0, at_a), LOAD_I64(b, 1, at_b)));
#else
    sum += LOAD_INT(a, 0, kType, at_a) * LOAD_INT(b, 1, kType, at_b);
#endif
  }
  return sum;
}

void main() {
  const uint count = push.batches * push.rows * push.columns;
  const uint first = 4u * invocation();
  if (first >= count) return;
  uvec4 results = uvec4(0u);
  for (uint k = 0u; k < 4u && first + k < count; ++k) {
#ifdef IS_I64
    const T sum = element(first + k);
    STORE_I64(y, 2, first + k, sum);
#else
    results[k] = uint(element(first + k));
#endif
  }
#ifndef IS_I64
  STORE_4(y, 2, kType, first, count, results);
#endif
}
