#pragma once

#include <cstdint>

#include "schema/bundle_generated.h"

namespace lazyrt {

/// Floating-point operations of a node of a verified method, two for each multiply-add. Counted are
/// convolutions, linear, matmul, GRU and LSTM; everything else gives 0.
uint64_t flops_of(const fb::Method& method, const fb::Node& node);

}  // namespace lazyrt
