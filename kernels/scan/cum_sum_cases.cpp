#include <cmath>
#include <limits>

#include "kernels/common/op_case.h"

namespace lazyrt {
namespace {

OpCase make(std::string name, std::vector<int64_t> shape, int axis, DType dtype = DType::kFloat32) {
  fb::CumSumT t;
  t.axis = axis;
  const Fill fill = is_floating(dtype) ? Fill::normal() : Fill::integers(0, 9);
  return {std::move(name), case_attrs(t), {random_operand(std::move(shape), fill, dtype)}};
}

}  // namespace

CaseList cum_sum_cases() {
  CaseList cases = {make("last", {3, 9}, 1),
                    make("first", {5, 4}, 0),
                    make("middle", {2, 5, 3}, 1),
                    make("one", {4, 1}, 1),
                    make("nothing", {4, 0}, 1),
                    make("long", {1000}, 0),
                    make("f64", {7}, 0, DType::kFloat64),
                    make("i64", {3, 4}, 1, DType::kInt64),
                    make("i32", {3, 4}, 0, DType::kInt32)};
  constexpr double kInf = std::numeric_limits<double>::infinity();
  for (const auto& [name, shape] : {std::pair<const char*, std::vector<int64_t>>{"special", {3, 7}},
                                    {"special_columns", {7, 3}}}) {
    OpCase special = make(name, shape, shape[0] == 3 ? 1 : 0);
    special.operands[0].fill = Fill::of({1, kInf, 2, -kInf, 3, std::nan(""), -1, 0.5});
    cases.push_back(special);
  }
  cases.push_back(make("wide", {3, 4, 300}, 1));
  OpCase wraps = make("wraps", {2, 9}, 1, DType::kInt32);
  wraps.operands[0].fill = Fill::integers(1 << 29, 1 << 30);
  cases.push_back(wraps);
  OpCase by_hand = make("by_hand", {4}, 0);
  by_hand.operands = {value_operand({4}, {1, 2, 3, -4})};
  by_hand.expected = {1, 3, 6, 2};
  cases.push_back(by_hand);
  return cases;
}

}  // namespace lazyrt
