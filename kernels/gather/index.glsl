// Indices of i32 or i64, checked before they are used: operand 1. Include it behind PUSH, which has `extent`, the
// positions of the axis, and `error`.
layout(constant_id = 0) const bool kWide = true;

OPERAND(1, readonly, index);
#define ERROR_BINDING 3
#include "error.glsl"

const uint kNowhere = 0xffffffffu;

/// Returns the position that index i names; if the index is not in [low, extent), ends the run and returns kNowhere.
uint position(uint i, int low) {
  uvec2 v;
  if (kWide) {
    v = uvec2(WORD(index, 1, 2u * i), WORD(index, 1, 2u * i + 1u));
  } else {
    v.x = WORD(index, 1, i);
    v.y = int(v.x) < 0 ? 0xffffffffu : 0u;
  }
  const int at = int(v.x);
  if (v.y == (at < 0 ? 0xffffffffu : 0u) && at >= low && at < push.extent) return uint(at < 0 ? at + push.extent : at);
  fail(push.error);
  return kNowhere;
}
