#include <cmath>

#include "kernels/common/op_case.h"

namespace lazyrt {
namespace {

using Fn = fb::ArgReduceFn;

OpCase make(Fn fn, const std::string& suffix, std::vector<int64_t> shape, int axis,
            bool keepdim = false, Fill fill = Fill::normal(), DType dtype = DType::kFloat32) {
  fb::ArgReduceT t;
  t.fn = fn, t.axis = axis, t.keepdim = keepdim;
  return {std::string(fb::EnumNameArgReduceFn(fn)) + "_" + suffix,
          case_attrs(t),
          {random_operand(std::move(shape), std::move(fill), dtype)}};
}

}  // namespace

CaseList arg_reduce_cases() {
  CaseList cases;
  for (Fn fn : fb::EnumValuesArgReduceFn()) {
    cases.push_back(make(fn, "last", {3, 5, 7}, 2));
    cases.push_back(make(fn, "first_kept", {6, 5}, 0, true));
    cases.push_back(make(fn, "middle", {3, 5, 4}, 1));
    cases.push_back(make(fn, "long", {2, 700}, 1));
    cases.push_back(make(fn, "columns", {40, 18}, 0));
    cases.push_back(make(fn, "single", {4, 1}, 1));
    cases.push_back(make(fn, "no_rows", {0, 4}, 1));
    cases.push_back(make(fn, "ties", {2, 6}, 1, false, Fill::of({1, 2, 2, 1, 2, 1})));
    cases.push_back(
        make(fn, "nan", {2, 4}, 1, false, Fill::of({1, std::nan(""), 9, std::nan(""), 3})));
    for (DType dtype : {DType::kFloat64, DType::kInt64, DType::kInt32, DType::kUInt8}) {
      cases.push_back(make(fn, dtype_name(dtype), {4, 9}, 1, false, Fill::integers(0, 100), dtype));
    }
  }
  OpCase by_hand = make(Fn::ArgMax, "by_hand", {2, 3}, 1, false, Fill::of({1, 5, 5, 7, 2, 1}));
  by_hand.expected = {1, 0};
  cases.push_back(by_hand);
  return cases;
}

}  // namespace lazyrt
