#include <limits>

#include "kernels/common/op_case.h"

namespace lazyrt {
namespace {

using Mode = fb::SampleMode;
using Padding = fb::SamplePadding;

struct Form {
  Mode mode;
  Padding padding;
  bool align_corners;

  std::string name() const {
    return std::string(fb::EnumNameSampleMode(mode)) + "_" + fb::EnumNameSamplePadding(padding) +
           (align_corners ? "_corners" : "");
  }
};

OpCase make(const Form& form, const char* suffix, std::vector<int64_t> x, CaseOperand grid) {
  fb::GridSampleT t;
  t.mode = form.mode, t.padding = form.padding, t.align_corners = form.align_corners;
  const DType dtype = grid.dtype;
  return {form.name() + suffix,
          case_attrs(t),
          {random_operand(std::move(x), Fill::normal(), dtype), std::move(grid)}};
}

/// Coordinates inside, at the edges, far outside and beyond numbers.
CaseOperand hostile_grid(int64_t dims) {
  constexpr double kInf = std::numeric_limits<double>::infinity();
  const double nan = std::numeric_limits<double>::quiet_NaN();
  std::vector<double> values = {-1, 1, 0,   0.999, -1.001, 1.5,   -2,  7.25, -9.5,
                                0,  1, 1e9, -3e4,  kInf,   -kInf, nan, 0.1,  0.5};
  const auto count = static_cast<int64_t>(values.size()) / dims;
  if (dims == 2) return value_operand({1, 1, count, dims}, values);
  return value_operand({1, 1, 1, count, dims}, values);
}

void add_cases(const Form& form, CaseList* cases) {
  const Fill wide = Fill::uniform(-1.6, 1.6);
  const auto add = [&](const char* suffix, std::vector<int64_t> x, CaseOperand grid) {
    cases->push_back(make(form, suffix, std::move(x), std::move(grid)));
  };
  add("", {2, 5, 7, 3}, random_operand({2, 4, 6, 2}, wide));
  add("_channels", {1, 6, 4, 37}, random_operand({1, 3, 5, 2}, wide));
  add("_fours", {2, 4, 3, 8}, random_operand({2, 2, 3, 2}, wide));
  add("_one_pixel", {1, 1, 1, 2}, random_operand({1, 2, 3, 2}, wide));
  add("_batch_zero", {0, 3, 3, 2}, random_operand({0, 2, 2, 2}, wide));
  add("_no_points", {1, 3, 3, 2}, random_operand({1, 0, 2, 2}, wide));
  add("_no_channels", {1, 3, 3, 0}, random_operand({1, 2, 2, 2}, wide));
  add("_hostile", {1, 4, 3, 2}, hostile_grid(2));
  add("_f64", {2, 5, 4, 3}, random_operand({2, 3, 3, 2}, wide, DType::kFloat64));
  if (form.mode == Mode::Bicubic) return;
  add("_volume", {2, 3, 4, 5, 3}, random_operand({2, 2, 3, 4, 3}, wide));
  add("_volume_hostile", {1, 3, 4, 2, 2}, hostile_grid(3));
}

}  // namespace

CaseList grid_sample_cases() {
  CaseList cases;
  for (Mode mode : fb::EnumValuesSampleMode()) {
    for (Padding padding : fb::EnumValuesSamplePadding()) {
      for (bool align_corners : {false, true}) add_cases({mode, padding, align_corners}, &cases);
    }
  }
  cases.push_back({"by_hand",
                   case_attrs(fb::GridSampleT{}),
                   {value_operand({1, 1, 2, 1}, {4, 8}),
                    value_operand({1, 1, 4, 2}, {-0.5, 0, 0, 0, 1, 0, 3, 0})},
                   1e-6,
                   false,
                   {4, 6, 4, 0}});
  return cases;
}

}  // namespace lazyrt
