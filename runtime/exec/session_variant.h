#pragma once

#include <type_traits>

#include "runtime/exec/fixed_variant.h"
#include "runtime/exec/variant.h"

namespace lazyrt {

/// The embedded profile's.
constexpr bool kIsFixed = !kDynamicShapes && !kDevices && !kCanWatch;
using SessionVariant = std::conditional_t<kIsFixed, FixedVariant, Variant>;

}  // namespace lazyrt
