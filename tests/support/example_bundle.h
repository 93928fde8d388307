#pragma once

#include "tests/support/tiny_bundle.h"

namespace lazyrt::test {

/// For programs on the real operators: y = relu(table[ids] + x), x f32[2,3], ids i64[2], table
/// f32[3,3] = 0..8. Output "y". One sample, whose y is right.
BundleParts example_bundle(const OpTable& ops);
extern const float kExampleX[6];
extern const int64_t kExampleIds[2];
extern const float kExampleY[6];

}  // namespace lazyrt::test
