#include "kernels/common/op_case.h"

namespace lazyrt {
namespace {

OpCase make(std::string name, std::vector<int64_t> shape, std::vector<int32_t> axes,
            DType dtype = DType::kFloat32) {
  fb::FlipT t;
  t.axes = std::move(axes);
  return {std::move(name),
          case_attrs(t),
          {random_operand(std::move(shape), Fill::integers(0, 99), dtype)}};
}

}  // namespace

CaseList flip_cases() {
  CaseList cases = {make("vector", {7}, {0}),
                    make("rows", {3, 4}, {0}),
                    make("columns", {3, 4}, {1}),
                    make("both", {3, 4}, {0, 1}),
                    make("unordered", {2, 3, 4}, {2, 0}),
                    make("none", {3, 4}, {}),
                    make("scalar", {}, {}),
                    make("empty", {0, 3}, {0, 1}),
                    make("ones", {1, 5, 1}, {0, 1, 2}),
                    make("i64", {3, 5}, {1}, DType::kInt64),
                    make("u8", {3, 5}, {1}, DType::kUInt8),
                    make("f16", {3, 5}, {0}, DType::kFloat16)};
  OpCase by_hand = make("by_hand", {2, 2}, {1});
  by_hand.operands = {value_operand({2, 2}, {1, 2, 3, 4})};
  by_hand.expected = {2, 1, 4, 3};
  cases.push_back(by_hand);
  return cases;
}

}  // namespace lazyrt
