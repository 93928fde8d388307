// What every shader begins with: where operands begin, and the block that an operator pushes.
//
//   #include "operands.glsl"
//   PUSH uint count; ... PUSH_END
//   OPERAND(0, readonly, x);      WORD(x, 0, i) is word i of the operand
//
// PUSH's members are those of the C++ struct, all of 4 bytes.

#define PUSH layout(push_constant, std430) uniform Push { uvec4 begin;
#define PUSH_END } push;
// Words of operand `number`, as uints.
#define OPERAND(number, access, name) \
  layout(binding = number, std430) access buffer Operand##number { uint name[]; }
#define WORD(name, number, i) name[push.begin[number] + (i)]
// The same operand four words at a time, where VECTORS_OF holds: it begins at a multiple of four. VECTOR(i) has the words
// from i on, a multiple of four; all four must be the operand's.
#define OPERAND_4(number, access, name) \
  layout(binding = number, std430) access buffer Vectors##number { uvec4 name[]; }
#define VECTORS_OF(number) ((push.begin[number] & 3u) == 0u)
#define VECTOR(name, number, i) name[(push.begin[number] + (i)) >> 2]
