#pragma once

// Patches that write where they should not: what a session is bound to at other sizes is another
// program than the one that was checked.

#include "tests/fuzz/random.h"
#include "tests/support/bundle_writer.h"

namespace lazyrt::fuzz {

/// The producer of a bundle with such patches: a run on one backend says nothing of another's.
inline constexpr const char* kWildProducer = "wild patches";

bool has_symbols(const test::BundleParts& parts);

/// Adds patches to a method with symbols and writes the bundle, its tables in any order. A patch
/// leads to a slot that the schema lacks, to a slot of the schema that lies in another table, to a
/// vector that is also another table's, or where it may; what it writes at one size of a symbol is
/// drawn. The file holds what its patches give at its own sizes, so that most are taken.
/// REQUIRES: has_symbols(*parts).
test::AlignedBytes write_with_wild_patches(Random* random, test::BundleParts* parts);

/// Lets some strings, vectors and tables of the metadata be others of their kind, or begin within
/// them, and writes the bundle.
test::AlignedBytes write_with_shared_parts(Random* random, const test::BundleParts& parts);

}  // namespace lazyrt::fuzz
