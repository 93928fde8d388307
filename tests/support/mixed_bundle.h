#pragma once

#include "tests/support/tiny_bundle.h"

namespace lazyrt::test {

/// A small network over the real operators: convolutions (plain, depthwise, transposed), pools,
/// linear, attention-like matmuls and softmax, norms, an embedding, a GRU, elementwise with
/// broadcasts, layout ops. Inputs image f32[1,12,12,3] and ids i64[1,5]; outputs classes f32[1,4],
/// sequence f32[1,5,8], best i64[1]. Weights from a fixed seed.
BundleParts mixed_bundle(const OpTable& ops);
/// The same with dims of image that vary: "batch", 1 to 4, "height" and "width", 8 to 32 in
/// multiples of 4.
BundleParts sized_mixed_bundle(const OpTable& ops);

/// Numbers in [-1, 1) from a fixed seed.
std::vector<float> random_floats(size_t count, uint32_t seed);

}  // namespace lazyrt::test
