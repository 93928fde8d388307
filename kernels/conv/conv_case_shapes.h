#pragma once

#include "kernels/common/op_case.h"

namespace lazyrt {

/// Sizes of one convolution case, for conv2d and conv_transpose2d.
struct ConvSizes {
  const char* name;
  int64_t batch, height, width, channels, filters, kernel_h, kernel_w;
  int stride = 1, pad = 0, dilation = 1, groups = 1;
  bool bias = true;
};

template <class Table>
Table conv_table(const ConvSizes& s) {
  Table t;
  t.stride_h = t.stride_w = s.stride;
  t.pad_top = t.pad_left = t.pad_bottom = t.pad_right = s.pad;
  t.dilation_h = t.dilation_w = s.dilation;
  t.groups = s.groups;
  return t;
}

inline std::vector<CaseOperand> conv_operands(const ConvSizes& s, DType dtype = DType::kFloat32) {
  return {random_operand({s.batch, s.height, s.width, s.channels}, Fill::normal(), dtype),
          weight_operand({s.filters, s.kernel_h, s.kernel_w, s.channels / s.groups},
                         Fill::normal(0, 0.5), dtype),
          s.bias ? weight_operand({s.filters}, Fill::normal(), dtype) : absent_operand()};
}

}  // namespace lazyrt
