#include "kernels/common/op_case.h"

namespace lazyrt {
namespace {

OpCase make(std::string name, std::vector<int64_t> shape, std::vector<int32_t> perm,
            DType dtype = DType::kFloat32) {
  fb::PermuteT t;
  t.perm = std::move(perm);
  return {std::move(name),
          case_attrs(t),
          {random_operand(std::move(shape), Fill::integers(0, 99), dtype)}};
}

}  // namespace

CaseList permute_cases() {
  CaseList cases = {make("transpose", {5, 7}, {1, 0}),
                    make("to_nhwc", {2, 3, 4, 5}, {0, 2, 3, 1}),
                    make("to_nchw", {2, 3, 4, 5}, {0, 3, 1, 2}),
                    make("heads", {2, 9, 4, 8}, {0, 2, 1, 3}),
                    make("last_two", {2, 3, 4, 5}, {0, 1, 3, 2}),
                    make("reverse", {2, 3, 4, 5}, {3, 2, 1, 0}),
                    make("identity", {3, 4}, {0, 1}),
                    make("vector", {6}, {0}),
                    make("scalar", {}, {}),
                    make("ones", {1, 5, 1, 3}, {2, 3, 0, 1}),
                    make("empty", {0, 3, 2}, {2, 0, 1}),
                    make("rank_six", {2, 1, 3, 2, 2, 3}, {5, 0, 3, 1, 4, 2}),
                    make("large", {33, 65}, {1, 0}),
                    make("large_each", {3, 20, 35}, {0, 2, 1})};
  for (DType dtype : {DType::kFloat64, DType::kFloat16, DType::kInt64, DType::kInt32, DType::kInt16,
                      DType::kInt8, DType::kUInt8}) {
    cases.push_back(make(dtype_name(dtype), {3, 4, 5}, {2, 0, 1}, dtype));
  }
  OpCase by_hand = make("by_hand", {2, 3}, {1, 0});
  by_hand.operands = {value_operand({2, 3}, {1, 2, 3, 4, 5, 6})};
  by_hand.expected = {1, 4, 2, 5, 3, 6};
  cases.push_back(by_hand);
  return cases;
}

}  // namespace lazyrt
