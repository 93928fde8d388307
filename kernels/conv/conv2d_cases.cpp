#include <cmath>
#include <limits>

#include "kernels/conv/conv_case_shapes.h"

namespace lazyrt {

CaseList conv2d_cases() {
  constexpr ConvSizes kSizes[] = {
      {"pointwise", 1, 5, 7, 13, 11, 1, 1},
      {"pointwise_rows", 2, 9, 7, 24, 41, 1, 1},
      {"pointwise_long", 1, 29, 31, 8, 9, 1, 1, 1, 0, 1, 1, false},
      {"pointwise_strided", 2, 7, 7, 8, 4, 1, 1, 2},
      {"pointwise_padded", 1, 3, 3, 4, 4, 1, 1, 1, 1},
      {"three", 1, 9, 8, 5, 6, 3, 3, 1, 1},
      {"three_strided", 2, 9, 8, 5, 6, 3, 3, 2, 1},
      {"no_bias", 1, 6, 6, 3, 8, 3, 3, 1, 0, 1, 1, false},
      {"stem", 1, 15, 15, 3, 16, 7, 7, 2, 3},
      {"patches", 1, 8, 8, 3, 10, 4, 4, 4},
      {"dilated", 1, 11, 11, 4, 4, 3, 3, 1, 2, 2},
      {"grouped", 1, 6, 6, 8, 12, 3, 3, 1, 1, 1, 4},
      {"grouped_strided", 1, 7, 7, 6, 6, 3, 3, 2, 1, 1, 2, false},
      {"grouped_wide", 1, 6, 6, 8, 64, 3, 3, 1, 1, 1, 2},
      {"grouped_odd", 2, 5, 5, 10, 54, 3, 3, 1, 1, 1, 2},
      {"large_image", 1, 92, 90, 4, 33, 3, 3, 1, 1},
      {"largest_image", 1, 131, 130, 3, 10, 3, 3, 1, 1},
      {"depthwise", 1, 9, 9, 16, 16, 3, 3, 1, 1, 1, 16},
      {"depthwise_strided", 2, 9, 9, 17, 17, 3, 3, 2, 1, 1, 17},
      {"depthwise_five", 1, 9, 9, 8, 8, 5, 5, 1, 2, 1, 8, false},
      {"depthwise_dilated", 1, 9, 9, 8, 8, 3, 3, 1, 2, 2, 8},
      {"depth_multiplier", 1, 6, 6, 5, 10, 3, 3, 1, 1, 1, 5},
      {"one_by_k", 1, 4, 12, 6, 7, 1, 5, 1, 0},
      {"long_row", 1, 1, 40, 8, 8, 1, 9, 1, 4},
      {"wide_kernel_padding", 1, 2, 2, 3, 4, 3, 3, 1, 1},
      {"one_pixel", 1, 1, 1, 1, 1, 1, 1},
      {"batch_zero", 0, 5, 5, 3, 4, 3, 3, 1, 1},
      {"batch_three", 3, 4, 4, 2, 2, 3, 3, 1, 1},
      {"many_filters", 1, 4, 4, 33, 65, 3, 3, 1, 1},
      {"panels", 1, 3, 4, 181, 331, 3, 3, 1, 1},
      {"pointwise_panels", 1, 2, 2, 1031, 521, 1, 1, 1, 0, 1, 1, false},
      // 3x3 at stride 1 with 16 channels and 64 outputs or more: by Winograd's method on the cpu.
      {"tiles", 1, 8, 8, 16, 16, 3, 3, 1, 1},
      {"tiles_odd", 1, 13, 10, 17, 35, 3, 3, 1, 1},
      {"tiles_no_padding", 2, 11, 14, 21, 16, 3, 3, 1, 0, 1, 1, false},
      {"tiles_wide_padding", 1, 7, 6, 16, 24, 3, 3, 1, 4},
      {"tiles_of_one_row", 1, 1, 70, 16, 16, 3, 3, 1, 1},
      {"tiles_of_two_rows", 1, 2, 70, 16, 16, 3, 3, 1, 1},
      {"tiles_many", 1, 43, 41, 16, 18, 3, 3, 1, 1},
      {"tiles_deep", 1, 9, 9, 160, 97, 3, 3, 1, 1},
      {"tiles_batch", 5, 9, 8, 16, 16, 3, 3, 1, 1},
      {"tiles_batch_zero", 0, 9, 8, 16, 16, 3, 3, 1, 1},
  };
  CaseList cases;
  for (const ConvSizes& s : kSizes) {
    cases.push_back({s.name, case_attrs(conv_table<fb::Conv2dT>(s)), conv_operands(s), 2e-5});
  }
  const ConvSizes base = {"", 1, 6, 7, 4, 5, 3, 3, 1, 1};
  cases.push_back(
      {"f64", case_attrs(conv_table<fb::Conv2dT>(base)), conv_operands(base, DType::kFloat64)});
  auto table = conv_table<fb::Conv2dT>(base);
  table.min = 0;
  cases.push_back({"relu", case_attrs(table), conv_operands(base), 2e-5});
  table.max = 6;
  cases.push_back({"relu6", case_attrs(table), conv_operands(base), 2e-5});
  table = conv_table<fb::Conv2dT>(base);
  table.pad_bottom = 2, table.pad_top = 0, table.stride_w = 2, table.dilation_h = 2;
  cases.push_back({"asymmetric", case_attrs(table), conv_operands(base), 2e-5});
  const ConvSizes tiles = {"", 2, 10, 11, 18, 20, 3, 3, 1, 1};
  table = conv_table<fb::Conv2dT>(tiles);
  table.min = -1, table.max = 2, table.pad_top = 0, table.pad_left = 2, table.pad_right = 3;
  cases.push_back({"tiles_asymmetric_clamp", case_attrs(table), conv_operands(tiles), 2e-5});
  OpCase dynamic = {"dynamic_weights", case_attrs(conv_table<fb::Conv2dT>(base)),
                    conv_operands(base), 2e-5};
  for (CaseOperand& operand : dynamic.operands) operand.constant = false;
  cases.push_back(dynamic);
  const ConvSizes nan = {"", 1, 3, 3, 1, 1, 1, 1, 1, 0, 1, 1, false};
  cases.push_back({"nan_stays",
                   case_attrs(conv_table<fb::Conv2dT>(nan)),
                   {value_operand({1, 3, 3, 1}, {1, std::nan(""), 2}), weight_operand({1, 1, 1, 1}),
                    absent_operand()}});
  OpCase infinite = {"tiles_infinity", case_attrs(conv_table<fb::Conv2dT>(tiles)),
                     conv_operands(tiles), 2e-5};
  std::vector<double> pixels(2 * 10 * 11 * 18, 0.5);
  pixels[0] = std::numeric_limits<double>::infinity();
  infinite.operands[0] = value_operand({2, 10, 11, 18}, pixels);
  cases.push_back(infinite);
  cases.push_back({"by_hand",
                   case_attrs(conv_table<fb::Conv2dT>({"", 1, 2, 2, 1, 1, 2, 2})),
                   {value_operand({1, 2, 2, 1}, {1, 2, 3, 4}),
                    value_operand({1, 2, 2, 1}, {1, 10, 100, 1000}), value_operand({1}, {0.5})},
                   1e-6,
                   false,
                   {4321.5}});
  return cases;
}

}  // namespace lazyrt
