#pragma once

#include "tests/support/tiny_bundle.h"

namespace lazyrt::test {

/// Values of dynamic_bundle by id.
namespace dynamic {
enum Value : int {
  kX,
  kIds,
  kMask,
  kOne,
  kCount,
  kRows,
  kSum,
  kRelu,
  kFlat,
  kTwice,
  kTotal,
  kNext
};
enum Node : int { kRowsNode, kSumNode, kReluNode, kFlatNode, kTwiceNode, kTotalNode, kNextNode };
}  // namespace dynamic

/// Of tiny_ops. Inputs x f32[rows,3], ids i64[n], mask f32[n,3]; the state "count" f32[1,3] begins
/// as zeros and grows by ones.
///   rows = x[ids]; sum = rows + mask; relu in place; flat = reshape(relu, [3 n]), a view;
///   twice = test.twice(flat); total = twice + flat in place over twice; next = count + one
/// Outputs total, mask. Symbols "rows", 1 to 8, and "n", 2 to 512 in
/// multiples of 2; the reshape's extent is a patch of n * 3.
BundleParts dynamic_bundle(int64_t rows = 4, int64_t n = 6);
/// dynamic_bundle with "n" up to 100, and a variant for 102 to 512 that is exported at `n2`: its
/// total is twice + twice. Its "rows" are 1 to 4.
BundleParts ranges_bundle(int64_t n2 = 200);
/// y = x + x of x f32[n,1], n from 1 to 8; from 5 on relu(x) where x[0] is not 0, else x + x + x.
/// Of operators that tiny_ops has, too.
BundleParts guarded_ranges_bundle();
/// y = relu(x[ids]) of x f32[n,3] and ids i64[2*n + 1], n from 1 to 100; of operators that tiny_ops
/// has, too. Terms: n, 2, n * 2, 1, n * 2 + 1; the last is what symbol 5 of "ids" is.
BundleParts follows_bundle(int64_t n = 2);
/// dynamic_bundle without symbols, terms and patches.
BundleParts static_bundle(int64_t rows, int64_t n);

/// x f32[n], n from 1 to 4096, in the file 64; y = relu(relu(...)), of `nodes` nodes.
BundleParts relu_chain(int nodes, int64_t extent = 64);

}  // namespace lazyrt::test
