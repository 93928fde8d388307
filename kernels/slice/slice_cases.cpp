#include "kernels/common/op_case.h"

namespace lazyrt {
namespace {

OpCase make(std::string name, std::vector<int64_t> shape, std::vector<int64_t> starts,
            std::vector<int64_t> sizes, std::vector<int64_t> steps, DType dtype = DType::kFloat32) {
  fb::SliceT t;
  t.starts = std::move(starts), t.sizes = std::move(sizes), t.steps = std::move(steps);
  return {std::move(name),
          case_attrs(t),
          {random_operand(std::move(shape), Fill::integers(0, 99), dtype)}};
}

}  // namespace

CaseList slice_cases() {
  CaseList cases = {make("middle", {4, 6}, {1, 2}, {2, 3}, {1, 1}),
                    make("stepped", {7, 9}, {1, 0}, {3, 5}, {2, 2}),
                    make("channels", {1, 3, 3, 8}, {0, 0, 0, 4}, {1, 3, 3, 4}, {1, 1, 1, 1}),
                    make("whole", {3, 4}, {0, 0}, {3, 4}, {1, 1}),
                    make("one", {3, 4}, {2, 3}, {1, 1}, {1, 1}),
                    make("nothing", {3, 4}, {3, 0}, {0, 4}, {1, 1}),
                    make("huge_step", {5}, {4}, {1}, {1LL << 62}),
                    make("scalar", {}, {}, {}, {}),
                    make("empty_input", {0, 3}, {0, 1}, {0, 2}, {1, 1})};
  for (DType dtype :
       {DType::kFloat64, DType::kFloat16, DType::kInt64, DType::kInt32, DType::kUInt8}) {
    cases.push_back(make(dtype_name(dtype), {5, 7}, {1, 1}, {2, 3}, {2, 2}, dtype));
  }
  OpCase by_hand = make("by_hand", {6}, {1}, {3}, {2});
  by_hand.operands = {value_operand({6}, {0, 1, 2, 3, 4, 5})};
  by_hand.expected = {1, 3, 5};
  cases.push_back(by_hand);
  return cases;
}

}  // namespace lazyrt
