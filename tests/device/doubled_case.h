#pragma once

#include "tests/conformance/case_run.h"
#include "tests/support/tiny_bundle.h"

namespace lazyrt::test {

/// Two nodes of a conformance case, each followed by a reshape to the same shape: outputs y0, z0,
/// y1, z1.
struct DoubledCase {
  BundleParts parts;
  std::vector<GuardedTensor> inputs;
};

/// False where the shape rule refuses the case.
bool double_case(const OpCase& op_case, DoubledCase* out);

}  // namespace lazyrt::test
