#pragma once

#include "kernels/common/op_case.h"

namespace lazyrt {

/// Cases that both pools have.
template <class Table>
CaseList pool_cases() {
  struct Sizes {
    const char* name;
    std::vector<int64_t> shape;
    int kernel, stride, pad;
    bool ceil_mode = false;
    DType dtype = DType::kFloat32;
  };
  const std::vector<Sizes> sizes = {{"two", {1, 6, 8, 5}, 2, 2, 0},
                                    {"three_padded", {2, 7, 7, 16}, 3, 2, 1},
                                    {"overlapping", {1, 6, 6, 3}, 3, 1, 1},
                                    {"global", {1, 7, 7, 20}, 7, 1, 0},
                                    {"one", {1, 4, 4, 3}, 1, 1, 0},
                                    {"strided_one", {1, 5, 5, 3}, 1, 2, 0},
                                    {"ceil", {1, 6, 7, 4}, 3, 2, 0, true},
                                    {"ceil_padded", {1, 6, 7, 4}, 3, 2, 1, true},
                                    {"ceil_last_window_dropped", {1, 4, 4, 2}, 2, 3, 1, true},
                                    {"ceil_over_small", {1, 2, 2, 3}, 3, 2, 0, true},
                                    {"batch_zero", {0, 4, 4, 3}, 2, 2, 0},
                                    {"no_channels", {1, 4, 4, 0}, 2, 2, 0},
                                    {"f64", {1, 4, 5, 3}, 2, 1, 0, false, DType::kFloat64}};
  CaseList cases;
  for (const Sizes& s : sizes) {
    Table t;
    t.kernel_h = t.kernel_w = s.kernel;
    t.stride_h = t.stride_w = s.stride;
    t.pad_top = t.pad_left = t.pad_bottom = t.pad_right = s.pad;
    t.ceil_mode = s.ceil_mode;
    cases.push_back({s.name, case_attrs(t), {random_operand(s.shape, Fill::normal(), s.dtype)}});
  }
  Table row;
  row.kernel_w = 3, row.stride_w = 2, row.pad_left = row.pad_right = 1;
  cases.push_back({"row", case_attrs(row), {random_operand({1, 1, 15, 6})}});
  Table uneven;
  uneven.kernel_h = 3, uneven.kernel_w = 2, uneven.stride_h = 2, uneven.pad_bottom = 1;
  cases.push_back({"uneven", case_attrs(uneven), {random_operand({1, 6, 5, 7})}});
  return cases;
}

}  // namespace lazyrt
