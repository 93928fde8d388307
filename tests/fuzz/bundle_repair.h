#pragma once

// Makes a bundle that was edited here and there consistent again: sizes, places and interface
// follow from what its values and nodes say, so that the loader takes it, most of the time.

#include "runtime/op/op_def.h"
#include "tests/fuzz/random.h"
#include "tests/support/bundle_writer.h"

namespace lazyrt::fuzz {

/// Nodes that their shape rule refuses are dropped, but for some. What is left open is drawn.
void repair(const OpTable& ops, Random* random, test::BundleParts* parts);

/// Bytes of a value of this shape, at most 2^62.
uint64_t bytes_of(fb::DType dtype, const std::vector<int64_t>& shape);

/// The lists among the attributes that the shape rules expect in the rank of their operand.
std::vector<std::vector<int64_t>*> long_lists(fb::OpAttrsUnion* op);
std::vector<std::vector<int32_t>*> int_lists(fb::OpAttrsUnion* op);

}  // namespace lazyrt::fuzz
