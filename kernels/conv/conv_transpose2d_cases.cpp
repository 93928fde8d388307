#include <cmath>

#include "kernels/conv/conv_case_shapes.h"

namespace lazyrt {

CaseList conv_transpose2d_cases() {
  constexpr ConvSizes kSizes[] = {
      {"double", 1, 5, 4, 6, 3, 2, 2, 2},
      {"three", 1, 5, 5, 4, 6, 3, 3, 1, 1},
      {"three_strided", 2, 5, 4, 4, 6, 3, 3, 2, 1},
      {"four", 1, 4, 4, 8, 5, 4, 4, 2, 1},
      {"pointwise", 1, 4, 4, 5, 7, 1, 1},
      {"no_bias", 1, 3, 3, 4, 4, 3, 3, 2, 0, 1, 1, false},
      {"dilated", 1, 5, 5, 3, 4, 3, 3, 1, 1, 2},
      {"grouped", 1, 4, 4, 6, 4, 3, 3, 2, 1, 1, 2},
      {"grouped_wide", 1, 4, 5, 6, 54, 3, 3, 2, 1, 1, 2},
      {"depthwise", 1, 4, 4, 6, 6, 3, 3, 2, 1, 1, 6},
      {"depthwise_quads", 2, 4, 5, 8, 8, 4, 4, 2, 1, 1, 8},
      {"stride_over_kernel", 1, 3, 3, 2, 3, 2, 2, 3},
      {"row", 1, 1, 9, 3, 4, 1, 4, 2, 0},
      {"one_pixel", 1, 1, 1, 1, 1, 1, 1},
      {"batch_zero", 0, 4, 4, 3, 4, 3, 3},
      // Kernels that do not overlap: products on the cpu.
      {"apart", 2, 5, 11, 12, 10, 2, 2, 2},
      {"apart_three", 1, 3, 13, 9, 7, 3, 3, 3, 0, 1, 1, false},
      {"apart_pointwise", 1, 4, 7, 20, 33, 1, 1},
  };
  CaseList cases;
  for (const ConvSizes& s : kSizes) {
    cases.push_back(
        {s.name, case_attrs(conv_table<fb::ConvTranspose2dT>(s)), conv_operands(s), 2e-5});
  }
  const ConvSizes base = {"", 1, 4, 5, 4, 6, 3, 3, 2, 1};
  cases.push_back({"f64", case_attrs(conv_table<fb::ConvTranspose2dT>(base)),
                   conv_operands(base, DType::kFloat64)});
  auto table = conv_table<fb::ConvTranspose2dT>(base);
  table.output_pad_h = table.output_pad_w = 1;
  cases.push_back({"output_padding", case_attrs(table), conv_operands(base), 2e-5});
  table.min = 0;
  cases.push_back({"relu", case_attrs(table), conv_operands(base), 2e-5});
  table = conv_table<fb::ConvTranspose2dT>(base);
  table.stride_h = 1, table.pad_left = 0;
  cases.push_back({"asymmetric", case_attrs(table), conv_operands(base), 2e-5});
  const ConvSizes apart = {"", 1, 3, 8, 17, 16, 2, 2, 2};
  table = conv_table<fb::ConvTranspose2dT>(apart);
  table.min = -0.5, table.max = 1;
  cases.push_back({"apart_clamp", case_attrs(table), conv_operands(apart), 2e-5});
  cases.push_back({"by_hand",
                   case_attrs(conv_table<fb::ConvTranspose2dT>({"", 1, 1, 2, 1, 1, 1, 2, 1})),
                   {value_operand({1, 1, 2, 1}, {1, 2}), value_operand({1, 1, 2, 1}, {10, 100})},
                   1e-6,
                   false,
                   {10, 120, 200}});
  OpCase nan = {"nan_stays", case_attrs(conv_table<fb::ConvTranspose2dT>(base)),
                conv_operands(base)};
  nan.operands[0].fill = Fill::of({1, 2, std::nan(""), 3, 4, 5, 6});
  cases.push_back(nan);
  return cases;
}

}  // namespace lazyrt
