#pragma once

// Edits of a bundle that know its schema.

#include "tests/fuzz/bundle_repair.h"

namespace lazyrt::fuzz {

/// The bundle in a file, if its metadata is a FlatBuffer of the schema; checksums do not matter.
bool read_parts(Span<const uint8_t> file, test::BundleParts* parts);

/// Some edits, each of one thing: a scalar anywhere in the schema, found by reflection, or a part
/// that is added, removed, copied or connected otherwise. The rest stays as it was: see repair.
void edit(const OpTable& ops, Random* random, test::BundleParts* parts);

/// Sets one scalar somewhere in the metadata to a number that tends to break things.
void edit_scalar(Random* random, test::BundleParts* parts);

/// What a mutator makes of a file: edited, repaired, now and then broken in one place after that;
/// of one with symbols mostly the same with wild patches (patch_edit.h).
test::AlignedBytes mutate(const OpTable& ops, uint64_t seed, test::BundleParts* parts);

}  // namespace lazyrt::fuzz
