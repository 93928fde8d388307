#pragma once

#include "tests/support/bundle_writer.h"

namespace lazyrt::fuzz {

/// A method of three variants over many kinds of operators, x f32[n] with n from 1 to 8: with a
/// state, a legitimate patch and a source for each node, whose texts they share. The file's sizes
/// are 4, 2 and 7. `has_failing_guard`: the first variant turns every run away.
test::BundleParts sized_program(bool has_failing_guard);

}  // namespace lazyrt::fuzz
