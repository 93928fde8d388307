// A result whose element i is element source(i) of x, of any type; of kNowhere it is 0. An invocation makes four.
#include "elements.glsl"
#include "kernels/gather/index.glsl"

layout(constant_id = 1) const uint kType = kF32;  ///< any of the elements' size

OPERAND(0, readonly, x);
OPERAND(2, writeonly, y);

uint source(uint i);

void main() {
  const uint first = 4u * invocation();
  if (first >= push.count) return;
  uvec4 results = uvec4(0u);
  for (uint k = 0u; k < 4u && first + k < push.count; ++k) {
    const uint at = source(first + k);
    if (kType == kI64) {
      uvec2 v = uvec2(0u);
      if (at != kNowhere) v = LOAD_I64(x, 0, at);
      STORE_I64(y, 2, first + k, v);
    } else if (at != kNowhere) {
      results[k] = uint(LOAD_INT(x, 0, kType, at));
    }
  }
  if (kType != kI64) STORE_4(y, 2, kType, first, push.count, results);
}
