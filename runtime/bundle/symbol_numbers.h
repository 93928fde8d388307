#pragma once

// Numbers made of a method's symbols: its terms, and the attributes that take their values.

#include "runtime/bundle/reader.h"
#include "runtime/core/pool.h"

namespace lazyrt {

/// "batch=3, seq=7", as far as it fits.
struct SizesText {
  char text[100];
};
/// REQUIRES: one value for each symbol.
SizesText sizes_text(const fb::Method& method, Span<const int64_t> symbols);

/// The number of a term.
struct TermNumber {
  bool is_real = false;
  int64_t integer = 0;
  double real = 0;

  double as_real() const { return is_real ? real : static_cast<double>(integer); }
};

/// Whether the operation has one operand: SquareRoot and those after it.
inline bool is_of_one(fb::TermOp op) { return op >= fb::TermOp::SquareRoot; }

/// Computes a op b, or op of a alone. kInvalidBundle: an integer overflows, a divisor is not
/// positive, or a real number is not finite. REQUIRES: op is known and not Integer, Real or Symbol.
Fault compute_term(fb::TermOp op, const TermNumber& a, const TermNumber& b, TermNumber* out);

/// Computes all terms. An error names the term: kUnsupported for an operation that is newer than
/// this runtime; kInvalidBundle for an operand that is not an earlier term, an integer that
/// overflows, a divisor that is not positive, or a real number that is not finite. REQUIRES: the
/// FlatBuffer's structure and the symbols were checked; `numbers` is empty.
Fault evaluate_terms(const fb::Method& method, Span<const int64_t> symbols, Pool* memory,
                     Span<TermNumber>* numbers);

/// A patch as bytes of the metadata.
struct PatchBytes {
  uint64_t offset = 0;  ///< from the start of the metadata; a multiple of `width`
  uint32_t width = 0;   ///< offset + width lies within the metadata
  uint8_t bytes[8] = {};
};

/// Where the patch writes: a stored number of its node's operator, or an element of a stored vector
/// of numbers; the type's width has to be the field's. kInvalidBundle: there is no such node,
/// stored field or element. A field that the schema does not have is refused, as what it leads to
/// was not checked. REQUIRES: check_nodes was ok; the patch's type is known.
Fault find_patch(Span<const uint8_t> metadata, const fb::Method& method, const fb::Patch& patch,
                 PatchBytes* out);

/// Finds what the patch writes, and where. kUnsupported: the field type is newer than this runtime;
/// kInvalidBundle: there is no such node, term, stored field or element, or the field cannot hold
/// the number. Trusts nothing in the patch. REQUIRES: check_nodes was ok.
Fault make_patch(Span<const uint8_t> metadata, const fb::Method& method, const fb::Patch& patch,
                 Span<const TermNumber> numbers, PatchBytes* out);

/// Whether the metadata already holds what the patch writes: integers exactly, reals within
/// rounding, in which math libraries differ.
bool is_patched(Span<const uint8_t> metadata, fb::FieldType type, const PatchBytes& patch);

}  // namespace lazyrt
