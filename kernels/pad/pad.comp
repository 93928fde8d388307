#version 450
// Padding and cropping of any dims.
#include "linear.glsl"
#include "operands.glsl"
#include "elements.glsl"

layout(constant_id = 0) const uint kType = 1;  ///< any of the elements' size
layout(constant_id = 1) const uint kMode = 0;  ///< fb::PadMode

PUSH
  uint count;
  uint rank;
  uint value_low, value_high;
  uint y_extents[8];
  uint x_extents[8];
  int before[8];
PUSH_END

OPERAND(0, , x);
OPERAND(1, , y);

const uint kConstant = 0u, kReflect = 1u, kReplicate = 2u;

/// As pad_source of pad_source.h.
int source(int i, int extent) {
  if (i >= 0 && i < extent) return i;
  if (kMode == kConstant) return -1;
  if (kMode == kReflect) return i < 0 ? -i : 2 * (extent - 1) - i;
  if (kMode == kReplicate) return i < 0 ? 0 : extent - 1;
  return i < 0 ? i + extent : i - extent;
}

void main() {
  const uint first = 4u * invocation();
  if (first >= push.count) return;
  uvec4 results = uvec4(0u);
  for (uint k = 0u; k < 4u && first + k < push.count; ++k) {
    uint place = first + k, from = 0u, stride = 1u;
    bool is_value = false;
    for (int d = int(push.rank) - 1; d >= 0; --d) {
      const uint outer = place / push.y_extents[d];
      const int index = int(place - outer * push.y_extents[d]);
      const int at = source(index - push.before[d], int(push.x_extents[d]));
      is_value = is_value || at < 0;
      from += uint(at) * stride;
      stride *= push.x_extents[d];
      place = outer;
    }
    uvec2 v = uvec2(push.value_low, push.value_high);
    if (kType == kI64) {
      if (!is_value) v = LOAD_I64(x, 0, from);
      STORE_I64(y, 1, first + k, v);
    } else {
      results[k] = is_value ? v.x : uint(LOAD_INT(x, 0, kType, from));
    }
  }
  if (kType != kI64) STORE_4(y, 1, kType, first, push.count, results);
}
