#include <cmath>
#include <limits>

#include "kernels/common/op_case.h"

namespace lazyrt {
namespace {

using Mode = fb::UpsampleMode;

void add_cases(Mode mode, CaseList* cases) {
  const std::string name = fb::EnumNameUpsampleMode(mode);
  const auto add = [&](const char* suffix, std::vector<int64_t> shape, int out_h, int out_w,
                       bool align, double scale_h, double scale_w, DType dtype = DType::kFloat32) {
    fb::Upsample2dT t;
    t.mode = mode, t.out_h = out_h, t.out_w = out_w, t.align_corners = align;
    t.scale_h = scale_h, t.scale_w = scale_w;
    cases->push_back(
        {name + suffix, case_attrs(t), {random_operand(std::move(shape), Fill::normal(), dtype)}});
  };
  add("_double", {2, 4, 5, 3}, 8, 10, false, 2, 2);
  add("_sizes", {1, 4, 5, 3}, 7, 11, false, 0, 0);
  add("_fours", {2, 3, 4, 8}, 5, 6, false, 0, 0);
  add("_shrink", {1, 9, 8, 2}, 4, 3, false, 0, 0);
  add("_scales", {1, 5, 6, 2}, 8, 9, false, 1.7, 1.6);
  add("_same", {1, 4, 4, 2}, 4, 4, false, 0, 0);
  add("_rows_alone", {2, 4, 6, 5}, 7, 6, false, 0, 0);
  add("_columns_alone", {1, 4, 6, 17}, 4, 9, false, 0, 1.5);
  add("_to_a_column", {1, 3, 40, 2}, 3, 2, false, 0, 0);
  add("_one_pixel", {1, 1, 1, 3}, 3, 2, false, 0, 0);
  add("_to_one", {1, 5, 4, 2}, 1, 1, false, 0, 0);
  add("_batch_zero", {0, 3, 3, 2}, 6, 6, false, 2, 2);
  add("_f64", {1, 3, 4, 2}, 6, 7, false, 0, 0, DType::kFloat64);
  if (mode != Mode::Bilinear && mode != Mode::Bicubic) return;
  add("_corners", {1, 4, 5, 3}, 7, 11, true, 0, 0);
  add("_corners_to_one", {1, 4, 5, 3}, 1, 1, true, 0, 0);
  add("_corners_double", {1, 4, 5, 3}, 8, 10, true, 2, 2);
}

}  // namespace

CaseList upsample2d_cases() {
  CaseList cases;
  for (Mode mode : fb::EnumValuesUpsampleMode()) add_cases(mode, &cases);
  fb::Upsample2dT t;
  t.mode = Mode::Bilinear, t.out_h = 1, t.out_w = 4;
  cases.push_back(
      {"by_hand", case_attrs(t), {value_operand({1, 1, 2, 1}, {0, 4})}, 1e-6, false, {0, 1, 3, 4}});
  fb::Upsample2dT same;
  same.mode = Mode::Bilinear, same.out_h = 2, same.out_w = 3;
  const double inf = std::numeric_limits<double>::infinity(), nan = std::nan("");
  cases.push_back({"keeps_neighbours_of_infinity",
                   case_attrs(same),
                   {value_operand({1, 2, 3, 1}, {0, inf, 1, 2, nan, 3})}});
  return cases;
}

}  // namespace lazyrt
