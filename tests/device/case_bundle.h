#pragma once

// Cases of the conformance tests as bundles.

#include "tests/conformance/case_run.h"
#include "tests/conformance/case_table.h"
#include "tests/support/tiny_bundle.h"

namespace lazyrt::test {

/// Two nodes of one case, each followed by a reshape to the same shape: outputs y0, z0, y1, z1.
struct CaseBundle {
  BundleParts parts;
  std::vector<GuardedTensor> inputs;
};

/// False where the shape rule refuses the case.
bool make_case_bundle(const OpCase& op_case, CaseBundle* out);

}  // namespace lazyrt::test
