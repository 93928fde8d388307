// Makes results, of any type, whose element i is element source(i) of x, or 0 if that is kNowhere. An invocation makes
// four elements.
#include "elements.glsl"
#include "kernels/gather/index.glsl"

layout(constant_id = 1) const uint kType = kF32;  ///< any of the elements' size

OPERAND(0, readonly, x);
OPERAND(2, writeonly, y);
OPERAND_4(0, readonly, x4);
OPERAND_4(2, writeonly, y4);

uint source(uint i);
/// Whether the sources of four elements, from a multiple of four on, are four from a multiple of four on.
bool picks_fours();

void main() {
  const uint first = 4u * invocation();
  if (first >= push.count) return;
  uvec4 results = uvec4(0u);
  if (packing(kType) == 0u && kType != kI64 && picks_fours() && VECTORS_OF(0) && VECTORS_OF(2)) {
    const uint at = source(first);
    if (at != kNowhere) results = VECTOR(x4, 0, at);
    VECTOR(y4, 2, first) = results;
    return;
  }
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
