#pragma once

// The numbers among a node's attributes, one by one, by the schema's own type tables.

#include <cstdint>
#include <vector>

#include "host_tracer/graph/attrs.h"
#include "schema/bundle_generated.h"

namespace lazyrt {

/// One number: a field, or an element of a field that is a vector.
struct AttrNumber {
  int32_t field = 0;   ///< its number in the op's table
  int32_t index = -1;  ///< of the element; -1: the field itself
  fb::FieldType type = fb::FieldType::Int32;
  int64_t integer = 0;  ///< of the integer types
  double real = 0;      ///< of the floating types

  bool is_real() const { return type == fb::FieldType::Float32 || type == fb::FieldType::Float64; }
  bool operator==(const AttrNumber&) const = default;
};

/// All numbers of 32 and 64 bits, in schema order, defaults too; enums, flags and texts are none.
std::vector<AttrNumber> attr_numbers(const Attrs& attrs);

/// The same attributes with these numbers instead. REQUIRES: attr_numbers(attrs) has each place.
Attrs with_numbers(const Attrs& attrs, const std::vector<AttrNumber>& numbers);

}  // namespace lazyrt
