#version 450
// softmax and log_softmax of long rows, cut into parts: a first dispatch stores the sums of the parts, a second one makes
// the results. A shader of its own, since softmax.comp with these cases in it is slower on short rows.
#include "operands.glsl"
#include "elements.glsl"
#include "math.glsl"

layout(constant_id = 0) const bool kLog = false;
layout(constant_id = 1) const bool kSafe = false;

PUSH
  uint rows, lanes_log2, columns;
  uint extent;
  uint inner;   ///< elements from one of a row to the next
  uint parts;   ///< of each row: they are rows of their own, all first parts before the second ones
  uint stores;  ///< the sums, not the results
PUSH_END

#include "row.glsl"

OPERAND(0, , x);
OPERAND(1, , y);
OPERAND(2, , sums);  ///< of each part the largest element, and the sum of the powers relative to it

float larger(float a, float b) { return is_nan(a) || a > b ? a : b; }
FOLD(float, fold_largest, larger(a, b))
FOLD(float, fold_sum, (a + b))

bool is_lowest(float v) { return floatBitsToUint(v) == 0xff800000u; }

void main() {
  const uint part_row = row_index(), rows = push.rows / push.parts, row = part_row % rows;
  const uint size = (push.extent + push.parts - 1u) / push.parts;
  const uint begin = part_row / rows * size, end = part_row < push.rows ? min(begin + size, push.extent) : 0u;
  const uint first = row / push.inner * push.extent * push.inner + row % push.inner;
  // The largest element and the sum: of the part's elements, or of the sums of all parts.
  const bool stores = push.stores != 0u;
  const uint elements_end = stores ? end : 0u, parts = stores ? 0u : push.parts;
  float top = -kInfinity, sum = 0.0;
  for (uint e = begin + lane(); e < elements_end; e += lanes()) top = larger(top, LOAD_FLOAT(x, 0, first + e * push.inner));
  for (uint p = lane(); p < parts; p += lanes()) top = larger(top, LOAD_FLOAT(sums, 2, 2u * (p * rows + row)));
  top = fold_largest(top);
  for (uint e = begin + lane(); e < elements_end; e += lanes()) sum += exp_of(LOAD_FLOAT(x, 0, first + e * push.inner) - top);
  for (uint p = lane(); p < parts; p += lanes()) {
    const uint at = 2u * (p * rows + row);
    sum += LOAD_FLOAT(sums, 2, at + 1u) * exp_of(LOAD_FLOAT(sums, 2, at) - top);
  }
  sum = fold_sum(sum);
  if (stores) {
    if (part_row >= push.rows || lane() != 0u) return;
    WORD(sums, 2, 2u * part_row) = floatBitsToUint(top);
    WORD(sums, 2, 2u * part_row + 1u) = floatBitsToUint(is_lowest(top) ? 0.0 : sum);  // -inf throughout adds nothing
    return;
  }
  const float scale = 1.0 / sum, shift = log_of(sum);
  const bool masked = kSafe && is_lowest(top);
  for (uint e = begin + lane(); e < end; e += lanes()) {
    const float v = LOAD_FLOAT(x, 0, first + e * push.inner) - top;
    WORD(y, 1, first + e * push.inner) = floatBitsToUint(masked ? 0.0 : kLog ? v - shift : exp_of(v) * scale);
  }
}
