// The index of the largest or smallest element of rows of T; see arithmetic.glsl.

#include "operands.glsl"
#include "elements.glsl"

layout(constant_id = 0) const bool kSmallest = false;
layout(constant_id = 1) const uint kType = kF32;

#include "kernels/common/axis_row.glsl"

OPERAND(0, readonly, x);
OPERAND(1, writeonly, y);

#include "arithmetic.glsl"

struct Best {
  T value;
  uint index;
};
const uint kNone = 0xffffffffu;

/// NaN before all numbers, then the lower index.
Best better(Best a, Best b) {
  if (a.index == kNone || b.index == kNone) return b.index == kNone ? a : b;
  if (is_nan(a.value) != is_nan(b.value)) return is_nan(a.value) ? a : b;
  const bool a_beats = kSmallest ? is_less(a.value, b.value) : is_less(b.value, a.value);
  const bool b_beats = kSmallest ? is_less(b.value, a.value) : is_less(a.value, b.value);
  if (is_nan(a.value) || a_beats == b_beats) return a.index < b.index ? a : b;
  return a_beats ? a : b;
}
FOLD(Best, fold_best, better(a, b))

void main() {
  const uint row = row_index();
  const uint count = row < push.rows ? push.extent : 0u;
  const uint first = first_of_row(row);
  Best best = Best(T(0), kNone);
  for (uint e = lane(); e < count; e += lanes()) best = better(best, Best(LOAD_T(x, 0, first + e * push.inner), e));
  best = fold_best(best);
  if (row < push.rows && lane() == 0u) STORE_I64(y, 1, row, uvec2(best.index, 0u));
}
