#pragma once

#include "runtime/op/op_def.h"

namespace lazyrt::test {

/// A table of small operators for tests of the runtime itself: unary (relu; in place), binary (add
/// of equal shapes; in place over both; takes a state and a workspace), reshape (a view),
/// index_select (rows of a matrix, i64 ids, checked at run), and the custom operator "test.twice"
/// version 1 (x -> 2x).
const OpTable& tiny_ops();

}  // namespace lazyrt::test
