#pragma once

#include "runtime/op/op_def.h"
#include "tests/support/bundle_writer.h"

namespace lazyrt::fuzz {

/// A bundle of one node of `method`: constants stay, what the method computes or keeps becomes an
/// input, and all that the node makes is a result. `constants` is the section of the whole bundle.
test::BundleParts single_node(const OpTable& ops, const fb::MethodT& method, size_t node,
                              const std::vector<uint8_t>& constants);

}  // namespace lazyrt::fuzz
