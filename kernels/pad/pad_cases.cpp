#include "kernels/common/op_case.h"

namespace lazyrt {
namespace {

using Mode = fb::PadMode;

OpCase make(std::string name, Mode mode, std::vector<int64_t> shape, std::vector<int64_t> before,
            std::vector<int64_t> after, double value = 0, DType dtype = DType::kFloat32) {
  fb::PadT t;
  t.mode = mode, t.before = std::move(before), t.after = std::move(after), t.value = value;
  return {std::move(name),
          case_attrs(t),
          {random_operand(std::move(shape), Fill::integers(1, 99), dtype)}};
}

}  // namespace

CaseList pad_cases() {
  CaseList cases = {make("image", Mode::Constant, {1, 4, 5, 3}, {0, 1, 2, 0}, {0, 1, 1, 0}),
                    make("value", Mode::Constant, {3, 4}, {1, 0}, {0, 2}, -1.5),
                    make("crop", Mode::Constant, {5, 6}, {-1, -2}, {-2, 0}),
                    make("crop_and_pad", Mode::Constant, {5, 6}, {-1, 2}, {2, -3}, 7),
                    make("crop_all", Mode::Constant, {3, 2}, {-3, 0}, {0, 0}),
                    make("nothing", Mode::Constant, {3, 4}, {0, 0}, {0, 0}),
                    make("from_empty", Mode::Constant, {0, 3}, {1, 0}, {1, 0}, 2),
                    make("scalar", Mode::Constant, {}, {}, {}),
                    make("reflect", Mode::Reflect, {1, 4, 5, 2}, {0, 3, 2, 0}, {0, 2, 4, 0}),
                    make("replicate", Mode::Replicate, {1, 3, 4, 2}, {0, 5, 1, 0}, {0, 1, 6, 0}),
                    make("circular", Mode::Circular, {1, 3, 4, 2}, {0, 3, 1, 0}, {0, 1, 4, 0}),
                    make("reflect_row", Mode::Reflect, {2, 7}, {0, 6}, {0, 6}),
                    make("reflect_all_dims", Mode::Reflect, {3, 4, 5}, {2, 1, 3}, {1, 3, 4}),
                    make("replicate_outer", Mode::Replicate, {3, 4, 5}, {2, 0, 0}, {1, 0, 0}),
                    make("replicate_one", Mode::Replicate, {1, 1}, {2, 3}, {4, 0}),
                    make("reflect_nothing", Mode::Reflect, {2, 3}, {0, 0}, {0, 0}),
                    make("replicate_of_empty", Mode::Replicate, {2, 0, 3}, {1, 0, 1}, {0, 0, 2}),
                    make("circular_long", Mode::Circular, {2, 300}, {0, 299}, {0, 300}),
                    make("negative_infinity", Mode::Constant, {1, 3, 3, 2}, {0, 1, 1, 0},
                         {0, 1, 1, 0}, -1.0 / 0.0)};
  for (DType dtype :
       {DType::kFloat64, DType::kFloat16, DType::kInt64, DType::kInt32, DType::kUInt8}) {
    cases.push_back(make(std::string("value_") + dtype_name(dtype), Mode::Constant, {3, 4}, {1, 0},
                         {0, 2}, 9, dtype));
    cases.push_back(make(std::string("reflect_") + dtype_name(dtype), Mode::Reflect, {3, 4, 3},
                         {1, 2, 0}, {0, 3, 0}, 0, dtype));
  }
  OpCase by_hand = make("by_hand", Mode::Reflect, {3}, {2}, {1});
  by_hand.operands = {value_operand({3}, {1, 2, 3})};
  by_hand.expected = {3, 2, 1, 2, 3, 2};
  cases.push_back(by_hand);
  return cases;
}

}  // namespace lazyrt
