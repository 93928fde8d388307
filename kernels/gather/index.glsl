// Indices of i32 or i64, checked before they are used: operand 1. Include it behind PUSH, which has `extent`, the
// positions of the axis, and `error`.
layout(constant_id = 0) const bool kWide = true;

OPERAND(1, readonly, index);
#define ERROR_BINDING 3
#include "error.glsl"

const uint kNowhere = 0xffffffffu;

uvec2 index_value(uint i) {
  if (kWide) return uvec2(WORD(index, 1, 2u * i), WORD(index, 1, 2u * i + 1u));
  const uint low = WORD(index, 1, i);
  return uvec2(low, int(low) < 0 ? 0xffffffffu : 0u);
}

/// Ends the run with an error that names the first index outside of the axis: index i, or one before it.
void fail_at(uint i) {
  const uint slot = error_slot(push.error);
  bool stores = fail(push.error);
  if (stores) stores = atomicMin(ERROR_WORD(slot), i) > i;
  // An invocation that saw a later position may overwrite our value, and then finds that it did: each repeats until the
  // value of the least position is there. The order follows from what each atomic returns: llvmpipe (Mesa 22.3) runs a
  // memory barrier in a branch as a barrier of the workgroup.
  while (stores) {
    const uvec2 v = index_value(atomicOr(ERROR_WORD(slot), 0u));
    const uint low = atomicExchange(ERROR_WORD(slot + 1u), v.x);
    const uint high = atomicExchange(ERROR_WORD(slot + 2u), v.y);
    stores = low != v.x || high != v.y;
  }
}

/// Returns the position that index i names; if the index is not in [low, extent), ends the run and returns kNowhere.
uint position(uint i, int low) {
  const uvec2 v = index_value(i);
  const int at = int(v.x);
  if (v.y == (at < 0 ? 0xffffffffu : 0u) && at >= low && at < push.extent) return uint(at < 0 ? at + push.extent : at);
  fail_at(i);
  return kNowhere;
}
