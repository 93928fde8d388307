#pragma once

// The attributes of a node by name, from the schema's own type tables: what the text form, JSON and
// whoever changes one attribute without knowing the operator have in common.

#include <cstdint>
#include <string>
#include <vector>

#include "flatbuffers/minireflect.h"
#include "host_tracer/graph/attrs.h"
#include "host_tracer/support/outcome.h"

namespace lazyrt {

/// One field of an operator's table.
struct AttrField {
  std::string name;
  flatbuffers::ElementaryType type = flatbuffers::ET_INT;  ///< of an element, if it is a vector
  bool is_vector = false;
  const flatbuffers::TypeTable* names = nullptr;  ///< of the values of an enum
  bool given = false;                             ///< not the schema's default, or an enum
  std::vector<int64_t> integers;  ///< of bools, enums and integers: one, or a vector's elements
  std::vector<double> reals;      ///< of floating types
  std::string string;             ///< of texts

  bool is_real() const { return type == flatbuffers::ET_FLOAT || type == flatbuffers::ET_DOUBLE; }
  /// "2", "true", "Relu", "[1,2]", "0.5", "\"name\"".
  std::string text() const;
};

/// All fields in schema order, those with defaults too.
std::vector<AttrField> attr_fields(const Attrs& attrs);

/// The attributes that these fields are. REQUIRES: they are those of the op, with other contents.
Attrs attrs_of(fb::OpAttrs kind, const std::vector<AttrField>& fields);

/// The same attributes with another value of the field of this name, as AttrField::text writes it.
/// The failure names op, attribute and what it may be.
Outcome<Attrs> with_attribute(const Attrs& attrs, const std::string& name, const std::string& text);

}  // namespace lazyrt
