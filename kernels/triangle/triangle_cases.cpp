#include "kernels/common/op_case.h"

namespace lazyrt {
namespace {

OpCase make(const std::string& name, std::vector<int64_t> shape, bool upper, int64_t diagonal,
            DType dtype = DType::kFloat32) {
  fb::TriangleT t;
  t.upper = upper, t.diagonal = diagonal;
  return {(upper ? "upper_" : "lower_") + name,
          case_attrs(t),
          {random_operand(std::move(shape), Fill::integers(1, 99), dtype)}};
}

}  // namespace

CaseList triangle_cases() {
  CaseList cases;
  for (bool upper : {false, true}) {
    cases.push_back(make("square", {5, 5}, upper, 0));
    cases.push_back(make("wide", {3, 6}, upper, 1));
    cases.push_back(make("tall", {6, 3}, upper, -2));
    cases.push_back(make("batch", {2, 3, 4, 4}, upper, 1));
    cases.push_back(make("far", {3, 3}, upper, 100));
    cases.push_back(make("far_below", {3, 3}, upper, -100));
    cases.push_back(make("hostile", {3, 3}, upper, INT64_MIN));
    cases.push_back(make("empty", {0, 3}, upper, 0));
    cases.push_back(make("i64", {4, 4}, upper, 0, DType::kInt64));
    cases.push_back(make("u8", {4, 4}, upper, 0, DType::kUInt8));
  }
  cases.push_back({"lower_by_hand",
                   case_attrs(fb::TriangleT{}),
                   {value_operand({2, 2}, {1, 2, 3, 4})},
                   1e-6,
                   false,
                   {1, 0, 3, 4}});
  return cases;
}

}  // namespace lazyrt
