#version 450
// Combines src into y at the indices. An invocation walks one line of the indices along the axis, so that the last of
// equal indices wins and sums are added in one order.
#include "linear.glsl"
#include "operands.glsl"
#include "elements.glsl"
#include "int64.glsl"
#include "math.glsl"

const uint kAssign = 0u, kAdd = 1u, kMul = 2u, kMaximum = 3u, kMinimum = 4u;  // fb::ScatterFn
layout(constant_id = 1) const uint kType = kF32;
layout(constant_id = 2) const uint kFunction = kAssign;

PUSH
  uint rank;  // of the lines
  uint extents[7];
  uint src_strides[7];
  uint y_strides[7];
  uint count;  // along a line, with the steps
  uint index_step;
  uint src_step;
  uint y_step;
  int extent;
  uint error;
PUSH_END
#include "kernels/gather/index.glsl"

OPERAND(0, , y);
OPERAND(2, readonly, src);

uint combined_float(float a, float b) {
  switch (kFunction) {
    case kAdd:
      return floatBitsToUint(a + b);
    case kMul:
      return floatBitsToUint(a * b);
    case kMaximum:
      return floatBitsToUint(is_nan(a) || a > b ? a : b);
    default:
      return floatBitsToUint(is_nan(a) || a < b ? a : b);
  }
}
int combined_int(int a, int b) {
  switch (kFunction) {
    case kAdd:
      return wrapped(kType, a + b);
    case kMul:
      return wrapped(kType, a * b);
    case kMaximum:
      return max(a, b);
    default:
      return min(a, b);
  }
}
uvec2 combined_64(uvec2 a, uvec2 b) {
  switch (kFunction) {
    case kAdd:
      return add64(a, b);
    case kMul:
      return mul64(a, b);
    case kMaximum:
      return less64(b, a) ? a : b;
    default:
      return less64(a, b) ? a : b;
  }
}

void combine(uint to, uint from) {
  if (kType == kI64) {
    uvec2 v = LOAD_I64(src, 2, from);
    if (kFunction != kAssign) v = combined_64(LOAD_I64(y, 0, to), v);
    STORE_I64(y, 0, to, v);
  } else if (packing(kType) == 0u) {
    uint v = WORD(src, 2, from);
    if (kFunction != kAssign) {
      const uint old = WORD(y, 0, to);
      v = kType == kF32 ? combined_float(uintBitsToFloat(old), uintBitsToFloat(v))
                        : uint(combined_int(int(old), int(v)));
    }
    WORD(y, 0, to) = v;
  } else {
    int v = LOAD_INT(src, 2, kType, from);
    if (kFunction != kAssign) {
      const uint word = atomicOr(y[push.begin[0] + (to >> packing(kType))], 0u);
      v = combined_int(unpack_int(kType, word, to), v);
    }
    STORE_ELEMENT(y, 0, kType, to, uint(v));
  }
}

void main() {
  uint line = invocation();
  uint from = 0u, to = 0u, index_at = line / push.index_step * push.count * push.index_step + line % push.index_step;
  for (int d = int(push.rank) - 1; d >= 0; --d) {
    const uint outer = line / push.extents[d];
    const uint at = line - outer * push.extents[d];
    from += at * push.src_strides[d];
    to += at * push.y_strides[d];
    line = outer;
  }
  if (line != 0u) return;  // behind the last one
  for (uint i = 0u; i < push.count; ++i) {
    const uint at = position(index_at + i * push.index_step, 0);
    if (at != kNowhere) combine(to + at * push.y_step, from + i * push.src_step);
  }
}
