#pragma once

#include <string>

#include "lazyrt/op_uses.h"

namespace lazyrt::run {

/// What a bundle needs of a build, a line "conv2d f32" or "unary.Relu f32 i64" for each operator or
/// function, sorted: what lazyrt_selective reads. Throws Failure.
std::string op_list(const std::string& bundle, const OpTable& ops);

}  // namespace lazyrt::run
