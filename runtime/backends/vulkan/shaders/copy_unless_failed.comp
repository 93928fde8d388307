#version 450
// Words of a state's next value, unless the run has failed.
#include "linear.glsl"
#include "operands.glsl"

PUSH
  uint words;
PUSH_END

OPERAND(0, readonly, from);
OPERAND(1, writeonly, to);
#define ERROR_BINDING 2
#include "error.glsl"

void main() {
  if (has_failed()) return;
  const uint first = 4u * invocation();
  for (uint i = first; i < first + 4u && i < push.words; ++i) WORD(to, 1, i) = WORD(from, 0, i);
}
