#pragma once

// Walks FlatBuffer tables by the reflection that flatc writes, so that tests can reach every field.

#include <functional>
#include <set>
#include <string>
#include <vector>

#include "flatbuffers/minireflect.h"
#include "schema/bundle_generated.h"

namespace lazyrt::test {

/// "methods.values.offset", ... of every field below `type`. A type that contains itself is entered
/// once; unions are not entered.
std::vector<std::string> field_paths(const flatbuffers::TypeTable* type);

/// One field that a table in a buffer holds.
struct FieldAt {
  std::string path;
  flatbuffers::ElementaryType type;
  bool is_vector = false;
  bool is_offset = false;  ///< `where` holds a 32-bit offset to a string, vector or table
  uint8_t* where = nullptr;
};

/// Visits the fields that are present in `table` and all below it, unions included.
void visit_fields(uint8_t* table, const flatbuffers::TypeTable* type,
                  const std::function<void(const FieldAt&)>& visit);

/// Bytes of a scalar of this type; 0 for strings and tables.
size_t scalar_bytes(flatbuffers::ElementaryType type);

}  // namespace lazyrt::test
