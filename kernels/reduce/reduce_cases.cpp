#include <cmath>
#include <limits>

#include "kernels/common/op_case.h"

namespace lazyrt {
namespace {

using Fn = fb::ReduceFn;

OpCase make(Fn fn, const std::string& suffix, std::vector<int64_t> shape, std::vector<int32_t> axes,
            bool keepdim, Fill fill = Fill::normal(), DType dtype = DType::kFloat32) {
  fb::ReduceT t;
  t.fn = fn, t.axes = std::move(axes), t.keepdim = keepdim;
  return {std::string(fb::EnumNameReduceFn(fn)) + "_" + suffix,
          case_attrs(t),
          {random_operand(std::move(shape), std::move(fill), dtype)}};
}

void add_float_cases(Fn fn, CaseList* cases) {
  constexpr double kInf = std::numeric_limits<double>::infinity();
  const bool is_extreme = fn == Fn::Max || fn == Fn::Min;
  cases->push_back(make(fn, "last", {3, 5, 7}, {2}, false));
  cases->push_back(make(fn, "last_kept", {3, 5, 7}, {2}, true));
  cases->push_back(make(fn, "first", {6, 5}, {0}, false));
  cases->push_back(make(fn, "middle", {3, 5, 4}, {1}, true));
  cases->push_back(make(fn, "space", {2, 5, 5, 8}, {1, 2}, true));
  cases->push_back(make(fn, "space_nchw", {2, 8, 5, 5}, {2, 3}, false));
  cases->push_back(make(fn, "columns", {30, 18}, {0}, false));
  cases->push_back(make(fn, "long_columns", {2, 520, 17}, {1}, false));
  cases->push_back(make(fn, "alternating", {2, 3, 4, 2, 3, 2}, {0, 2, 4}, false));
  cases->push_back(make(fn, "outer_inner", {3, 4, 5}, {0, 2}, false));
  cases->push_back(make(fn, "all", {3, 4, 5}, {0, 1, 2}, false));
  cases->push_back(make(fn, "single", {4, 1}, {1}, false));
  cases->push_back(make(fn, "no_rows", {0, 4}, {1}, false));
  cases->push_back(make(fn, "f64", {4, 9}, {1}, false, Fill::normal(), DType::kFloat64));
  cases->push_back(make(fn, "special", {4, 3}, {1}, false,
                        Fill::of({std::nan(""), 1, 2, kInf, 1, 0, -kInf, 3, 1, -kInf, kInf, 1})));
  if (!is_extreme) cases->push_back(make(fn, "of_nothing", {3, 0}, {1}, false));
}

}  // namespace

CaseList reduce_cases() {
  CaseList cases;
  for (Fn fn : fb::EnumValuesReduceFn()) {
    add_float_cases(fn, &cases);
    if (fn == Fn::Mean) continue;
    for (DType dtype : {DType::kInt64, DType::kInt32, DType::kInt16, DType::kInt8, DType::kUInt8}) {
      cases.push_back(make(fn, dtype_name(dtype), {4, 5}, {1}, false, Fill::integers(0, 3), dtype));
    }
    if (fn == Fn::Sum || fn == Fn::Prod) continue;
    cases.push_back(make(fn, "bool", {5, 3}, {1}, false, Fill::normal(), DType::kBool));
  }
  OpCase long_sum = make(Fn::Sum, "long", {2, 20000}, {1}, false, Fill::uniform(0, 1));
  cases.push_back(long_sum);
  OpCase by_hand = make(Fn::Mean, "by_hand", {2, 2}, {0}, false, Fill::of({1, 2, 3, 5}));
  by_hand.expected = {2, 3.5};
  cases.push_back(by_hand);
  return cases;
}

}  // namespace lazyrt
