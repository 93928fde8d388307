// Elements of tensors in words. Include it behind operands.glsl.
//
// A type is a number of DType (lazyrt/dtype.h). Bools and small integers are computed as int; results wrap when they are
// stored, and a bool that is not 0 is stored as 1.

const uint kF32 = 1u, kI8 = 5u, kU8 = 6u, kI16 = 7u, kI32 = 8u, kI64 = 9u, kBool = 10u;

/// Returns n, where a word has 2^n elements.
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
/// Returns x as it is after it was stored as the type and loaded again.
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

/// Stores the four elements v of a type of at most 32 bits, given as uints, from element i on, a multiple of 4: so an
/// invocation writes whole words. Elements at and behind `count` are not stored, or are 0 if their word is.
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
/// Stores element i of a type of at most 32 bits, given as uint, where other invocations may store elements of the same word.
#define STORE_ELEMENT(name, number, type, i, bits)                             \
  {                                                                            \
    const uint packed_by = packing(type), element_bits = 32u >> packed_by;     \
    const uint word = (i) >> packed_by;                                        \
    const uint shift = ((i) & ((1u << packed_by) - 1u)) * element_bits;        \
    if (packed_by == 0u) {                                                     \
      WORD(name, number, word) = bits;                                         \
    } else {                                                                   \
      const uint mask = ((1u << element_bits) - 1u) << shift;                  \
      atomicAnd(WORD(name, number, word), ~mask);                              \
      atomicOr(WORD(name, number, word), (bits) << shift & mask);              \
    }                                                                          \
  }
