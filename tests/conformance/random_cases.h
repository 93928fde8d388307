#pragma once

#include <random>

#include "kernels/common/op_case.h"

namespace lazyrt {

/// `count` valid cases of the op with random sizes, attributes and data; empty for an op without a
/// generator. Sizes include 0 and 1.
CaseList random_cases(fb::OpAttrs op, int count, uint64_t seed);

}  // namespace lazyrt
