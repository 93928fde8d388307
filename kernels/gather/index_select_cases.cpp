#include "kernels/common/op_case.h"

namespace lazyrt {
namespace {

OpCase make(std::string name, std::vector<int64_t> x, int axis, CaseOperand ids,
            DType dtype = DType::kFloat32) {
  fb::IndexSelectT t;
  t.axis = axis;
  return {std::move(name),
          case_attrs(t),
          {random_operand(std::move(x), Fill::integers(0, 99), dtype), std::move(ids)}};
}

CaseOperand ids(std::vector<int64_t> shape, std::vector<double> values,
                DType dtype = DType::kInt64) {
  return value_operand(std::move(shape), std::move(values), dtype);
}

OpCase refused(OpCase c) {
  c.refused_at_run = true;
  return c;
}

OpCase from_the_front(OpCase c) {
  fb::IndexSelectT t = *c.attrs.AsIndexSelect();
  t.from_end = false;
  c.attrs = case_attrs(t);
  return c;
}

}  // namespace

CaseList index_select_cases() {
  CaseList cases = {
      make("embedding", {10, 6}, 0, random_operand({2, 3}, Fill::integers(0, 9), DType::kInt64)),
      make("embedding_i32", {10, 33}, 0, random_operand({4}, Fill::integers(0, 9), DType::kInt32)),
      make("fours", {7, 8}, 0, random_operand({5}, Fill::integers(-7, 6), DType::kInt64)),
      make("negative", {5, 3}, 0, ids({3}, {-1, -5, 4})),
      make("columns", {4, 7}, 1, ids({3}, {6, 0, 6})),
      make("middle", {2, 5, 3}, 1, ids({2, 2}, {1, 4, 0, 1})),
      make("scalar_id", {4, 3}, 0, ids({}, {2})),
      make("vector", {9}, 0, ids({4}, {8, 0, 3, 3})),
      make("no_ids", {4, 3}, 0, ids({0}, {0})),
      make("no_width", {4, 0}, 0, ids({2}, {1, 3})),
      refused(make("too_large", {5, 3}, 0, ids({3}, {0, 5, 1}))),
      refused(make("too_negative", {5, 3}, 0, ids({2}, {0, -6}, DType::kInt32))),
      refused(make("hostile", {5, 3}, 0, ids({2}, {0, 9e18}))),
      from_the_front(make("from_the_front", {5, 3}, 0, ids({3}, {0, 4, 2}))),
      refused(from_the_front(make("below_zero", {5, 3}, 0, ids({2}, {0, -1})))),
      refused(make("of_nothing", {0, 3}, 0, ids({1}, {0})))};
  for (DType dtype : {DType::kFloat64, DType::kFloat16, DType::kInt64, DType::kInt8}) {
    cases.push_back(make(dtype_name(dtype), {6, 5}, 0, ids({3}, {5, 0, 2}), dtype));
  }
  OpCase by_hand = make("by_hand", {3, 2}, 0, ids({2}, {2, 0}));
  by_hand.operands[0] = value_operand({3, 2}, {1, 2, 3, 4, 5, 6});
  by_hand.expected = {5, 6, 1, 2};
  cases.push_back(by_hand);
  return cases;
}

}  // namespace lazyrt
