#pragma once

// The structure of the metadata: that every table, vector and string is where it can be read. What
// flatc's verifiers say, in a loop over the fields of the tables instead of a function for each.

#include "lazyrt/span.h"
#include "schema/bundle_generated.h"

namespace lazyrt {

/// What was found on the way.
struct StructureFacts {
  /// The bytes of all that tables lead to, each time that they do. More than there are: tables
  /// share what is behind them, as in no honest file, and whoever walks them does more work than
  /// the file is long.
  uint64_t walked = 0;
  uint32_t longest_name = 0;  ///< bytes of what kBundleMaxNameBytes limits
  uint32_t longest_text = 0;  ///< bytes of what kBundleMaxTextBytes limits
};

/// Whether the bytes are a FlatBuffer whose root is a Bundle, and no offset in it leads outside, to
/// what is not aligned, or is nested or repeated more than kBundleMaxDepth and kBundleMaxTables
/// allow. Not checked, as by flatc: that parts are apart, the alignment of elements of 64 bits, and
/// operators newer than this runtime.
bool is_bundle_structure(Span<const uint8_t> metadata, StructureFacts* facts);

/// The same for a method in it, its variants among it. REQUIRES: it is in the metadata.
bool is_method_structure(Span<const uint8_t> metadata, const fb::Method& method,
                         StructureFacts* facts);

}  // namespace lazyrt
