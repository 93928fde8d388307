#include "kernels/common/op_case.h"

namespace lazyrt {
namespace {

/// A diagonal far from 0 keeps the solution small, so that all runtimes agree.
CaseOperand matrix(std::vector<int64_t> shape, DType dtype = DType::kFloat32) {
  const int64_t size = shape.back();
  std::vector<double> values;
  for (int64_t i = 0; i < size * size; ++i) {
    values.push_back(i % (size + 1) == 0 ? 2.5 + 0.25 * static_cast<double>(i % 3)
                                         : 0.11 * static_cast<double>(i * 7 % 11) - 0.5);
  }
  return value_operand(std::move(shape), std::move(values), dtype);
}

OpCase make(const char* name, bool upper, bool unit, CaseOperand a, std::vector<int64_t> b) {
  fb::TriangularSolveT t;
  t.upper = upper, t.unit = unit;
  const DType dtype = a.dtype;
  const std::string form = std::string(upper ? "upper" : "lower") + (unit ? "_unit_" : "_");
  return {form + name,
          case_attrs(t),
          {std::move(a), random_operand(std::move(b), Fill::normal(), dtype)},
          1e-4};
}

}  // namespace

CaseList triangular_solve_cases() {
  CaseList cases;
  for (bool upper : {false, true}) {
    for (bool unit : {false, true}) {
      cases.push_back(make("vector", upper, unit, matrix({5, 5}), {5, 1}));
      cases.push_back(make("batch", upper, unit, matrix({2, 3, 4, 4}), {2, 3, 4, 19}));
      cases.push_back(make("one", upper, unit, matrix({1, 1}), {1, 3}));
      cases.push_back(make("large", upper, unit, matrix({16, 16}), {16, 33}));
      cases.push_back(make("nothing", upper, unit, random_operand({0, 0}), {0, 3}));
      cases.push_back(make("no_columns", upper, unit, matrix({3, 3}), {3, 0}));
      cases.push_back(make("no_matrices", upper, unit, random_operand({0, 3, 3}), {0, 3, 2}));
      cases.push_back(make("f64", upper, unit, matrix({2, 4, 4}, DType::kFloat64), {2, 4, 3}));
    }
  }
  cases.push_back({"by_hand",
                   case_attrs(fb::TriangularSolveT{}),
                   {value_operand({2, 2}, {2, 99, 1, 4}), value_operand({2, 1}, {6, 11})},
                   1e-6,
                   false,
                   {3, 2}});
  return cases;
}

}  // namespace lazyrt
