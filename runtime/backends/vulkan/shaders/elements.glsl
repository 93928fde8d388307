// Elements of tensors in words. Include it behind operands.glsl.
//
// A type is a number of DType (lazyrt/dtype.h). Bools and small integers are computed on as int; their results wrap
// when they are stored, and of bools all but 0 is 1. An invocation that stores makes four elements from i on, a
// multiple of 4, so that each word is written once; elements at and behind `count` are not stored, or 0 where their
// word is.

const uint kF32 = 1u, kI8 = 5u, kU8 = 6u, kI16 = 7u, kI32 = 8u, kI64 = 9u, kBool = 10u;

/// 2^n elements are in a word.
uint packing(uint type) { return type == kI16 ? 1u : type == kI8 || type == kU8 || type == kBool ? 2u : 0u; }

int unpack_int(uint type, uint word, uint i) {
  switch (type) {
    case kI8:
      return bitfieldExtract(int(word), int(i & 3u) * 8, 8);
    case kU8:
      return int(bitfieldExtract(word, int(i & 3u) * 8, 8));
    case kBool:
      return bitfieldExtract(word, int(i & 3u) * 8, 8) != 0u ? 1 : 0;
    case kI16:
      return bitfieldExtract(int(word), int(i & 1u) * 16, 16);
    default:
      return int(word);
  }
}
/// Wraps to the type: what is stored and loaded again.
int wrapped(uint type, int x) {
  switch (type) {
    case kI8:
      return bitfieldExtract(x, 0, 8);
    case kU8:
      return x & 255;
    case kBool:
      return x != 0 ? 1 : 0;
    case kI16:
      return bitfieldExtract(x, 0, 16);
    default:
      return x;
  }
}
uint pack_4(uvec4 v) { return (v.x & 255u) | (v.y & 255u) << 8 | (v.z & 255u) << 16 | v.w << 24; }
uint pack_2(uvec2 v) { return (v.x & 65535u) | v.y << 16; }

/// Element i of an operand.
#define LOAD_INT(name, number, type, i) unpack_int(type, WORD(name, number, (i) >> packing(type)), i)
#define LOAD_FLOAT(name, number, i) uintBitsToFloat(WORD(name, number, i))
#define LOAD_I64(name, number, i) uvec2(WORD(name, number, 2u * (i)), WORD(name, number, 2u * (i) + 1u))

/// Stores the four elements v of a type of at most 32 bits, as uints.
#define STORE_4(name, number, type, i, count, v)                                          \
  {                                                                                       \
    const uint packed_by = packing(type);                                                 \
    if (packed_by == 2u) {                                                                \
      WORD(name, number, (i) >> 2) = pack_4(type == kBool ? uvec4(notEqual(v, uvec4(0u))) : v); \
    } else if (packed_by == 1u) {                                                         \
      WORD(name, number, (i) >> 1) = pack_2((v).xy);                                      \
      if ((i) + 2u < (count)) WORD(name, number, ((i) >> 1) + 1u) = pack_2((v).zw);       \
    } else {                                                                              \
      for (uint k = 0u; k < 4u && (i) + k < (count); ++k) WORD(name, number, (i) + k) = (v)[k]; \
    }                                                                                     \
  }
/// Stores one element of 64 bits.
#define STORE_I64(name, number, i, v)          \
  {                                            \
    WORD(name, number, 2u * (i)) = (v).x;      \
    WORD(name, number, 2u * (i) + 1u) = (v).y; \
  }
/// Stores element i of less than 32 bits where others write the rest of its word at the same time.
#define STORE_WITHIN_WORD(name, number, type, i, v)                            \
  {                                                                            \
    const uint element_bits = 32u >> packing(type);                            \
    const uint shift = ((i) & ((1u << packing(type)) - 1u)) * element_bits;    \
    const uint mask = ((1u << element_bits) - 1u) << shift;                    \
    atomicAnd(WORD(name, number, (i) >> packing(type)), ~mask);                \
    atomicOr(WORD(name, number, (i) >> packing(type)), (v) << shift & mask);   \
  }
