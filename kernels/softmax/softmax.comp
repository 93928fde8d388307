#version 450
// softmax and log_softmax of rows. Rows of at most kKept elements for each lane are read once.
#include "operands.glsl"
#include "elements.glsl"
#include "math.glsl"

layout(constant_id = 0) const bool kLog = false;
layout(constant_id = 1) const bool kSafe = false;

#include "kernels/common/axis_row.glsl"

OPERAND(0, , x);
OPERAND(1, , y);

const uint kKept = 16u;
shared float kept[kKept * 128u];

FOLD(float, fold_largest, (is_nan(a) || a > b ? a : b))
FOLD(float, fold_sum, (a + b))

void main() {
  const uint row = row_index(), t = gl_LocalInvocationIndex;
  const uint count = row < push.rows ? push.extent : 0u;
  const uint first = first_of_row(row);
  const bool keeps = push.extent <= kKept << push.lanes_log2;
  float top = -kInfinity;
  for (uint e = lane(); e < count; e += lanes()) {
    const float v = LOAD_FLOAT(x, 0, first + e * push.inner);
    if (keeps) kept[(e >> push.lanes_log2) * 128u + t] = v;
    top = is_nan(top) || top > v ? top : v;
  }
  top = fold_largest(top);
  float sum = 0.0;
  for (uint e = lane(); e < count; e += lanes()) {
    const float v = keeps ? kept[(e >> push.lanes_log2) * 128u + t] : LOAD_FLOAT(x, 0, first + e * push.inner);
    const float power = exp_of(v - top);
    if (keeps && !kLog) kept[(e >> push.lanes_log2) * 128u + t] = power;
    sum += power;
  }
  sum = fold_sum(sum);
  const float scale = 1.0 / sum, shift = log_of(sum);
  const bool masked = kSafe && floatBitsToUint(top) == 0xff800000u;
  for (uint e = lane(); e < count; e += lanes()) {
    const float v = keeps ? kept[(e >> push.lanes_log2) * 128u + t] : LOAD_FLOAT(x, 0, first + e * push.inner);
    const float power = keeps || kLog ? v : exp_of(v - top);
    const float result = masked ? 0.0 : kLog ? (v - top) - shift : power * scale;
    WORD(y, 1, first + e * push.inner) = floatBitsToUint(result);
  }
}
