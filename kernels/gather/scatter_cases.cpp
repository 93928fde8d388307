#include "kernels/common/op_case.h"

namespace lazyrt {
namespace {

using Fn = fb::ScatterFn;

OpCase make(const std::string& name, Fn fn, std::vector<int64_t> x, int axis, CaseOperand index,
            std::vector<int64_t> src, DType dtype = DType::kFloat32) {
  fb::ScatterT t;
  t.fn = fn, t.axis = axis;
  return {std::string(fb::EnumNameScatterFn(fn)) + "_" + name,
          case_attrs(t),
          {random_operand(std::move(x), Fill::integers(0, 9), dtype), std::move(index),
           random_operand(std::move(src), Fill::integers(0, 9), dtype)}};
}

/// Indices that are distinct along every axis of up to four positions.
CaseOperand distinct(std::vector<int64_t> shape) {
  return value_operand(std::move(shape), {3, 1, 0, 2}, DType::kInt64);
}

}  // namespace

CaseList scatter_cases() {
  CaseList cases = {
      make("row", Fn::Assign, {5, 6}, 1, distinct({5, 4}), {5, 4}),
      make("column", Fn::Assign, {4, 3}, 0,
           value_operand({2, 3}, {3, 1, 0, 0, 2, 1}, DType::kInt64), {2, 3}),
      make("smaller", Fn::Assign, {4, 6}, 1, distinct({3, 4}), {5, 7}),
      make("nothing", Fn::Assign, {4, 3}, 0, distinct({0, 3}), {0, 3}),
      make("f16", Fn::Assign, {5}, 0, distinct({4}), {4}, DType::kFloat16),
      make("u8", Fn::Assign, {4, 7}, 0, distinct({4, 7}), {4, 7}, DType::kUInt8),
      make("u8_rows", Fn::Assign, {3, 5}, 1, distinct({3, 4}), {3, 4}, DType::kUInt8),
      make("last_wins", Fn::Assign, {3, 4}, 1,
           value_operand({3, 6}, {2, 0, 2, 1, 0, 2}, DType::kInt32), {3, 6}),
      make("batches", Fn::Assign, {2, 4, 33}, 1, distinct({2, 1, 33}), {2, 1, 33}),
      make("i32_index", Fn::Assign, {5}, 0, value_operand({2}, {4, 0}, DType::kInt32), {2})};
  for (Fn fn : {Fn::Add, Fn::Mul, Fn::Max, Fn::Min}) {
    const auto repeated = [](std::vector<int64_t> shape) {
      return random_operand(std::move(shape), Fill::integers(0, 2), DType::kInt64);
    };
    cases.push_back(make("repeated", fn, {3, 4}, 0, repeated({6, 4}), {6, 4}));
    cases.push_back(make("vector", fn, {3}, 0, repeated({9}), {9}));
    cases.push_back(make("i64", fn, {2, 3}, 1, repeated({2, 5}), {2, 5}, DType::kInt64));
    cases.push_back(make("i8", fn, {3, 5}, 0, repeated({4, 5}), {4, 5}, DType::kInt8));
    cases.push_back(make("i16", fn, {2, 3}, 1, repeated({2, 5}), {2, 5}, DType::kInt16));
    cases.push_back(make("f64", fn, {2, 3}, 1, repeated({2, 5}), {2, 5}, DType::kFloat64));
  }
  for (double bad : {5.0, -1.0}) {
    OpCase c = make("bad_" + std::to_string(cases.size()), Fn::Add, {5}, 0,
                    value_operand({2}, {0, bad}, DType::kInt64), {2});
    c.refused_at_run = true;
    cases.push_back(c);
  }
  OpCase by_hand =
      make("by_hand", Fn::Add, {3}, 0, value_operand({3}, {2, 0, 2}, DType::kInt64), {3});
  by_hand.operands[0] = value_operand({3}, {1, 1, 1});
  by_hand.operands[2] = value_operand({3}, {10, 20, 30});
  by_hand.expected = {21, 1, 41};
  cases.push_back(by_hand);
  return cases;
}

}  // namespace lazyrt
