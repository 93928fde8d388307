#pragma once

// What a result is besides its elements. Free of LibTorch types.

#include <string>

#include "host_tracer/trace/eager_reference.h"

namespace lazyrt {

/// Neither a number nor None.
bool is_tensor(const ResultValue& value);

/// "f32[2,7]", "an int", "None".
std::string type_text(const ResultValue& value);

/// The program's result, as a tensor if it is a number and the bundle has a tensor for it.
ResultValue in_kind_of(const ResultValue& ours, const ResultValue& eager);

/// How the results differ in kind, dtype, shape or as a number; empty if only elements are left to
/// compare.
std::string other_kind(const ResultValue& ours, const ResultValue& eager);

}  // namespace lazyrt
