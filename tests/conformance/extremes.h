#pragma once

// Numbers at the ends of ranges, for the attributes and operands of a node.

#include <vector>

#include "tests/conformance/case_run.h"

namespace lazyrt {

/// A scalar of an operator's attributes, or an element of a list among them, in place.
struct AttributeSlot {
  std::string name;
  flatbuffers::ElementaryType type;
  uint8_t* at;
};
/// Valid as long as `attrs`.
std::vector<AttributeSlot> attribute_slots(PackedAttrs* attrs);

/// How many numbers there are for each type.
constexpr size_t kExtremes = 14;
/// Writes number i < kExtremes.
void write_extreme(const AttributeSlot& slot, size_t i);
int64_t extreme_integer(size_t i);

/// Fills the tensor with the ends of its type's range, infinities, NaN, 0, 1 and -1, in an order
/// that depends on `first`.
void fill_with_extremes(const GuardedTensor& tensor, size_t first);

}  // namespace lazyrt
