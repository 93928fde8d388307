#pragma once

#include "kernels/common/op_case.h"

namespace lazyrt {

/// Cases of a norm over trailing dims; `operands` is 3 with a bias, else 2.
template <class Table>
CaseList row_norm_cases(int operands) {
  struct Sizes {
    const char* name;
    std::vector<int64_t> shape;
    int rank;
    bool weighted;
    DType dtype = DType::kFloat32;
  };
  const std::vector<Sizes> sizes = {{"last", {3, 5, 16}, 1, true},
                                    {"odd", {7, 13}, 1, true},
                                    {"plain", {4, 9}, 1, false},
                                    {"two_dims", {2, 3, 4, 5}, 2, true},
                                    {"whole", {3, 4}, 2, true},
                                    {"single", {4, 1}, 1, true},
                                    {"no_rows", {0, 8}, 1, true},
                                    {"no_columns", {3, 0}, 1, true},
                                    {"wide", {2, 384}, 1, true},
                                    {"longest", {2, 2500}, 1, true},
                                    {"f64", {3, 6}, 1, true, DType::kFloat64}};
  CaseList cases;
  for (const Sizes& s : sizes) {
    Table t;
    t.normalized_rank = s.rank;
    t.epsilon = 1e-5;
    const std::vector<int64_t> row(s.shape.end() - s.rank, s.shape.end());
    OpCase c = {s.name, case_attrs(t), {random_operand(s.shape, Fill::normal(1, 2), s.dtype)}};
    for (int i = 1; i < operands; ++i) {
      c.operands.push_back(s.weighted ? weight_operand(row, Fill::normal(1, 0.5), s.dtype)
                                      : absent_operand());
    }
    cases.push_back(c);
  }
  return cases;
}

}  // namespace lazyrt
