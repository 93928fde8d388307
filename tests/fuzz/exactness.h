#pragma once

#include <vector>

#include "schema/bundle_generated.h"

namespace lazyrt::fuzz {

/// How far two backends have to agree on a value.
enum class Exactness {
  kExact,           ///< inputs, constants, what is moved or computed of them in integers: equal
  kWithinRounding,  ///< floats that one operator made of exact values: within its tolerance
  kFree,  ///< made of values that may differ: a floor, a comparison, a division may make much of it
};

/// Of each value of a method that the loader took, and then of each of its variants. They share
/// states: what one leaves there another reads.
std::vector<std::vector<Exactness>> exactness_of(const fb::MethodT& method);

}  // namespace lazyrt::fuzz
