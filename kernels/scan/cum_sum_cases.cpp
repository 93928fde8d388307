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
  OpCase by_hand = make("by_hand", {4}, 0);
  by_hand.operands = {value_operand({4}, {1, 2, 3, -4})};
  by_hand.expected = {1, 3, 6, 2};
  cases.push_back(by_hand);
  return cases;
}

}  // namespace lazyrt
