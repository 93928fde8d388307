#include "kernels/common/op_case.h"

namespace lazyrt {
namespace {

/// Symmetric, with a large diagonal.
OpCase make(const char* name, std::vector<int64_t> shape, DType dtype = DType::kFloat32) {
  const int64_t size = shape.back();
  std::vector<double> values;
  for (int64_t i = 0; i < size; ++i) {
    for (int64_t j = 0; j < size; ++j) {
      values.push_back(i == j ? 3 + 0.5 * static_cast<double>(i % 4)
                              : 0.1 * static_cast<double>((i + j) % 7) - 0.3);
    }
  }
  if (values.empty()) values.push_back(0);
  return {name, case_attrs(fb::CholeskyT{}), {value_operand(std::move(shape), values, dtype)}};
}

}  // namespace

CaseList cholesky_cases() {
  return {make("square", {5, 5}),
          make("batch", {2, 3, 4, 4}),
          make("one", {1, 1}),
          make("large", {13, 13}),
          make("nothing", {0, 0}),
          make("f64", {2, 4, 4}, DType::kFloat64),
          {"no_matrices", case_attrs(fb::CholeskyT{}), {random_operand({0, 3, 3})}},
          {"by_hand",
           case_attrs(fb::CholeskyT{}),
           {value_operand({2, 2}, {4, 99, 6, 25})},
           1e-6,
           false,
           {2, 0, 3, 4}}};
}

}  // namespace lazyrt
