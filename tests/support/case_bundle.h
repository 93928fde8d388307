#pragma once

#include <functional>

#include "kernels/common/op_case.h"
#include "tests/support/tiny_bundle.h"

namespace lazyrt::test {

/// The case's node as a method: operands are inputs x0, x1, ..., constants have the bytes that
/// data(i) points to, the results are y0, y1, .... Throws std::runtime_error with the message of
/// the shape rule.
void add_case_node(MethodBuilder* method, const OpTable& ops, const OpCase& op_case,
                   const std::function<const void*(size_t)>& data);

}  // namespace lazyrt::test
