#pragma once

// What a result is beside its elements. Free of LibTorch types.

#include <string>

#include "host_tracer/trace/eager_reference.h"

namespace lazyrt {

/// Neither a number nor None.
bool is_tensor(const ResultValue& value);

/// "f32[2,7]", "an int", "None".
std::string type_text(const ResultValue& value);

/// The program's result; where it is a number for which the bundle has a tensor, as a tensor.
ResultValue in_kind_of(const ResultValue& ours, const ResultValue& eager);

/// What differs in kind, dtype, shape or as a number; empty where only elements are left to
/// compare.
std::string other_kind(const ResultValue& ours, const ResultValue& eager);

}  // namespace lazyrt
