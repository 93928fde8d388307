#include <cmath>

#include "kernels/common/op_case.h"

namespace lazyrt {
namespace {

OpCase make(std::string name, std::vector<int64_t> x, int64_t units, bool bias = true,
            DType dtype = DType::kFloat32) {
  const int64_t depth = x.back();
  return {std::move(name),
          case_attrs(fb::LinearT{}),
          {random_operand(std::move(x), Fill::normal(), dtype),
           weight_operand({units, depth}, Fill::normal(0, 0.5), dtype),
           bias ? weight_operand({units}, Fill::normal(), dtype) : absent_operand()},
          2e-5};
}

}  // namespace

CaseList linear_cases() {
  CaseList cases = {make("square", {8, 8}, 8),
                    make("odd", {5, 13}, 7),
                    make("vector", {9}, 3),
                    make("no_bias", {2, 3, 17}, 5, false),
                    make("rank_four", {2, 1, 3, 4}, 6),
                    make("single_unit", {4, 31}, 1),
                    make("depth_one", {4, 1}, 5),
                    make("wide", {3, 64}, 130),
                    make("batch_zero", {0, 6}, 4),
                    make("no_depth", {3, 0}, 4),
                    make("no_units", {3, 4}, 0),
                    make("f64", {4, 9}, 5, true, DType::kFloat64),
                    make("row", {1, 256}, 100),
                    make("panels", {3, 1031}, 521),
                    make("rows", {7, 3, 40}, 50),
                    make("rows_odd", {61, 19}, 37),
                    make("rows_long", {230, 9}, 8, false)};
  OpCase clamped = make("relu6", {6, 20}, 9);
  clamped.attrs.AsLinear()->min = 0;
  clamped.attrs.AsLinear()->max = 6;
  cases.push_back(clamped);
  clamped = make("deep_clamped", {6, 700}, 9);
  clamped.attrs.AsLinear()->min = -1;
  clamped.attrs.AsLinear()->max = 20;
  cases.push_back(clamped);
  OpCase dynamic = make("dynamic_weights", {3, 5}, 4);
  dynamic.operands[1].constant = dynamic.operands[2].constant = false;
  cases.push_back(dynamic);
  cases.push_back({"by_hand",
                   case_attrs(fb::LinearT{}),
                   {value_operand({1, 2}, {1, 2}), value_operand({2, 2}, {3, 4, 5, 6}),
                    value_operand({2}, {0.5, -0.5})},
                   1e-6,
                   false,
                   {11.5, 16.5}});
  OpCase nan = make("nan_stays", {2, 3}, 2);
  nan.operands[0] = value_operand({2, 3}, {1, std::nan(""), 2, 3, 4, 5});
  cases.push_back(nan);
  nan.name = "nan_stays_clamped";
  nan.attrs.AsLinear()->min = 0;
  cases.push_back(nan);
  return cases;
}

}  // namespace lazyrt
