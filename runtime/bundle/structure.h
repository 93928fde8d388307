#pragma once

// Checks the structure of the metadata: that every table, vector and string can be read where it
// is. The same checks as flatc's verifiers, in a loop over the fields of the tables instead of a
// function for each.

#include "lazyrt/span.h"
#include "schema/bundle_generated.h"

namespace lazyrt {

/// What was found on the way.
struct StructureFacts {
  /// The bytes of everything that tables lead to, counted each time. If this exceeds the metadata's
  /// size, tables share what they lead to, as in no honest file, and a walk takes more work than
  /// the file is long.
  uint64_t walked = 0;
  uint32_t longest_name = 0;  ///< bytes of what kBundleMaxNameBytes limits
  uint32_t longest_text = 0;  ///< bytes of what kBundleMaxTextBytes limits
};

/// Whether the bytes are a FlatBuffer whose root is a Bundle. No offset in it may lead outside or
/// to something unaligned, and nesting and number of tables may not exceed kBundleMaxDepth and
/// kBundleMaxTables. As in flatc, it does not check that parts are apart, that 64-bit elements are
/// aligned, or operators newer than this runtime.
bool is_bundle_structure(Span<const uint8_t> metadata, StructureFacts* facts);

/// The same for a method in it, its variants included. REQUIRES: the method is in the metadata.
bool is_method_structure(Span<const uint8_t> metadata, const fb::Method& method,
                         StructureFacts* facts);

}  // namespace lazyrt
