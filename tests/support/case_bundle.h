#pragma once

#include <functional>

#include "kernels/common/op_case.h"
#include "tests/support/tiny_bundle.h"

namespace lazyrt::test {

/// The case's operands as inputs x0, x1, ... and constants, which have the bytes that data(i)
/// points to. Gives their values; -1 where an operand is absent.
std::vector<int> add_case_operands(MethodBuilder* method, const OpCase& op_case,
                                   const std::function<const void*(size_t)>& data);
/// The case's node as a method, with results y0, y1, .... Throws std::runtime_error with the
/// message of the shape rule.
void add_case_node(MethodBuilder* method, const OpTable& ops, const OpCase& op_case,
                   const std::function<const void*(size_t)>& data);

}  // namespace lazyrt::test
