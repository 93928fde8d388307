#include <cmath>
#include <limits>

#include "kernels/common/op_case.h"

namespace lazyrt {
namespace {

using Fn = fb::ScanFn;

fb::OpAttrsUnion attrs_of(Fn fn, int axis) {
  fb::ScanT t;
  t.fn = fn, t.axis = axis;
  return case_attrs(t);
}

void add_cases(Fn fn, CaseList* cases) {
  const std::string name = fb::EnumNameScanFn(fn);
  const auto add = [&](const char* suffix, std::vector<int64_t> shape, int axis,
                       DType dtype = DType::kFloat32) {
    const Fill fill = is_floating(dtype) ? Fill::normal() : Fill::integers(0, 9);
    cases->push_back(
        {name + suffix, attrs_of(fn, axis), {random_operand(std::move(shape), fill, dtype)}});
  };
  add("_last", {3, 9}, 1);
  add("_first", {5, 4}, 0);
  add("_middle", {2, 5, 3}, 1);
  add("_one", {4, 1}, 1);
  add("_nothing", {4, 0}, 1);
  add("_long", {300}, 0);
  add("_columns", {2, 40, 17}, 1);
  add("_f64", {7}, 0, DType::kFloat64);
  if (fn != Fn::LogSumExp) {
    add("_i64", {3, 24}, 1, DType::kInt64);  // products wrap
    add("_i32", {3, 4}, 0, DType::kInt32);
    add("_u8", {9}, 0, DType::kUInt8);
    add("_i8", {9}, 0, DType::kInt8);
  }
  const double inf = std::numeric_limits<double>::infinity(), nan = std::nan("");
  cases->push_back({name + "_ends",
                    attrs_of(fn, 1),
                    {value_operand({4, 4}, {1, inf, -inf, 2, -inf, -inf, 3, inf, 0, nan, 1, inf,  //
                                            inf, inf, 0, nan})}});
}

}  // namespace

CaseList scan_cases() {
  CaseList cases;
  for (Fn fn : fb::EnumValuesScanFn()) add_cases(fn, &cases);
  const auto by_hand = [&](Fn fn, std::vector<double> expected) {
    cases.push_back({std::string("by_hand_") + fb::EnumNameScanFn(fn),
                     attrs_of(fn, 0),
                     {value_operand({4}, {2, -1, 3, -4})},
                     1e-6,
                     false,
                     std::move(expected)});
  };
  by_hand(Fn::Prod, {2, -2, -6, 24});
  by_hand(Fn::Max, {2, 2, 3, 3});
  by_hand(Fn::Min, {2, -1, -1, -4});
  by_hand(Fn::LogSumExp, {2, 2.0485873, 3.3265626, 3.3272202});
  return cases;
}

}  // namespace lazyrt
