// Elements of any type, moved as they are. Include it behind operands.glsl. kSize is log2 of an element's bytes; the
// invocation that writes a word makes all of it.

/// Words of an element, and elements in a word, as shifts.
uint element_words() { return kSize == 3u ? 1u : 0u; }
uint word_elements() { return kSize == 0u ? 2u : kSize == 1u ? 1u : 0u; }

/// Part k of a word that has 2^word_elements().
uint part_of(uint word, uint k) {
  return kSize == 0u ? bitfieldExtract(word, int(k) * 8, 8) : kSize == 1u ? bitfieldExtract(word, int(k) * 16, 16) : word;
}
/// A word whose part k is `bits` and all others are 0.
uint as_part(uint bits, uint k) { return kSize == 0u ? bits << (8u * k) : kSize == 1u ? bits << (16u * k) : bits; }

/// Element i of an operand of at most 32 bits.
#define LOAD_PART(name, number, i) \
  part_of(WORD(name, number, (i) >> word_elements()), (i) & ((1u << word_elements()) - 1u))

/// Makes word w of the result, whose element i is element source(i) of the operand; of kNowhere it is 0.
const uint kNowhere = 0xffffffffu;
#define MOVE_WORD(to, to_number, from, from_number, w, count)                                     \
  if (kSize >= 2u) {                                                                              \
    const uint at = source((w) >> element_words());                                               \
    const uint half_word = (w) & element_words();                                                 \
    uint word = 0u;                                                                               \
    if (at != kNowhere) word = WORD(from, from_number, (at << element_words()) + half_word);      \
    WORD(to, to_number, w) = word;                                                                \
  } else {                                                                                        \
    const uint per_word = 1u << word_elements();                                                  \
    uint word = 0u;                                                                               \
    for (uint k = 0u; k < per_word && (w) * per_word + k < (count); ++k) {                        \
      const uint at = source((w) * per_word + k);                                                 \
      if (at != kNowhere) word |= as_part(LOAD_PART(from, from_number, at), k);                   \
    }                                                                                             \
    WORD(to, to_number, w) = word;                                                                \
  }
