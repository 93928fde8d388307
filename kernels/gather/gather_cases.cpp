#include "kernels/common/op_case.h"

namespace lazyrt {
namespace {

OpCase make(std::string name, std::vector<int64_t> x, int axis, CaseOperand index,
            DType dtype = DType::kFloat32) {
  fb::GatherT t;
  t.axis = axis;
  return {std::move(name),
          case_attrs(t),
          {random_operand(std::move(x), Fill::integers(0, 99), dtype), std::move(index)}};
}

CaseOperand indices(std::vector<int64_t> shape, int64_t last, DType dtype = DType::kInt64) {
  return random_operand(std::move(shape), Fill::integers(0, last), dtype);
}

}  // namespace

CaseList gather_cases() {
  CaseList cases = {make("rows", {5, 4}, 0, indices({3, 4}, 4)),
                    make("columns", {3, 7}, 1, indices({3, 5}, 6)),
                    make("smaller", {4, 5, 6}, 1, indices({2, 8, 3}, 4)),
                    make("last", {2, 3, 9}, 2, indices({2, 3, 1}, 8)),
                    make("vector", {6}, 0, indices({10}, 5, DType::kInt32)),
                    make("i32_columns", {4, 6}, 1, indices({3, 9}, 5, DType::kInt32)),
                    make("batches", {3, 5, 40}, 1, indices({3, 7, 33}, 4)),
                    make("nothing", {4, 3}, 0, indices({0, 3}, 3)),
                    make("i64", {4, 3}, 1, indices({4, 2}, 2), DType::kInt64),
                    make("u8", {4, 3}, 1, indices({4, 2}, 2), DType::kUInt8),
                    make("f16", {4, 3}, 1, indices({4, 2}, 2), DType::kFloat16)};
  for (double bad : {3.0, -1.0, -9e18, 0x1p32}) {
    OpCase c = make("bad_" + std::to_string(cases.size()), {3, 2}, 0,
                    value_operand({1, 2}, {0, bad}, DType::kInt64));
    c.refused_at_run = true;
    cases.push_back(c);
  }
  OpCase by_hand = make("by_hand", {2, 2}, 1, value_operand({2, 2}, {1, 1, 0, 1}, DType::kInt64));
  by_hand.operands[0] = value_operand({2, 2}, {1, 2, 3, 4});
  by_hand.expected = {2, 2, 3, 4};
  cases.push_back(by_hand);
  return cases;
}

}  // namespace lazyrt
