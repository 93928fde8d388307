#include <cmath>

#include "kernels/common/op_case.h"

namespace lazyrt {
namespace {

OpCase make(std::string name, std::vector<int64_t> a, std::vector<int64_t> b,
            bool transpose = false, DType dtype = DType::kFloat32) {
  fb::MatMulT t;
  t.transpose_b = transpose;
  const Fill fill = is_floating(dtype) ? Fill::normal() : Fill::integers(0, 9);
  return {std::move(name),
          case_attrs(t),
          {random_operand(std::move(a), fill, dtype), random_operand(std::move(b), fill, dtype)},
          2e-5};
}

}  // namespace

CaseList matmul_cases() {
  CaseList cases = {make("plain", {5, 7}, {7, 3}),
                    make("transposed", {5, 7}, {3, 7}, true),
                    make("batch", {2, 3, 5, 8}, {2, 3, 8, 4}),
                    make("attention", {2, 4, 9, 16}, {2, 4, 9, 16}, true),
                    make("broadcast_b", {3, 4, 5}, {5, 6}),
                    make("broadcast_a", {4, 5}, {3, 5, 6}),
                    make("broadcast_both", {2, 1, 3, 4}, {5, 4, 2}),
                    make("broadcast_transposed", {2, 2, 3, 4}, {2, 1, 5, 4}, true),
                    make("row", {1, 64}, {64, 17}),
                    make("column", {17, 33}, {33, 1}),
                    make("depth_one", {4, 1}, {1, 5}),
                    make("no_depth", {2, 0}, {0, 3}),
                    make("batch_zero", {0, 2, 3}, {3, 4}),
                    make("no_rows", {2, 0, 3}, {2, 3, 4}),
                    make("large", {33, 65}, {65, 47}),
                    make("large_tiles", {1030, 20}, {20, 500}),
                    make("largest_tiles", {2085, 9}, {510, 9}, true),
                    make("batch_of_rows", {3, 2, 1, 70}, {2, 70, 37}),
                    make("rows_transposed", {2, 3, 72}, {2, 37, 72}, true),
                    make("f64", {3, 4}, {4, 5}, false, DType::kFloat64),
                    make("i64", {3, 4}, {4, 5}, false, DType::kInt64),
                    make("i32", {2, 3, 4}, {2, 5, 4}, true, DType::kInt32),
                    make("u8", {2, 3, 4}, {4, 5}, false, DType::kUInt8),
                    make("i16", {3, 4}, {4, 5}, false, DType::kInt16)};
  OpCase weights = make("constant_b", {3, 10}, {10, 6});
  weights.operands[1].constant = true;
  cases.push_back(weights);
  OpCase by_hand = make("by_hand", {1, 2}, {2, 2});
  by_hand.operands = {value_operand({1, 2}, {1, 2}), value_operand({2, 2}, {3, 4, 5, 6})};
  by_hand.expected = {13, 16};
  cases.push_back(by_hand);
  OpCase nan = make("nan_stays", {2, 3}, {3, 2});
  nan.operands[0] = value_operand({2, 3}, {1, std::nan(""), 2, 3, 4, 5});
  cases.push_back(nan);
  return cases;
}

}  // namespace lazyrt
