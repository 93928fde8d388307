#include <limits>

#include "kernels/common/op_case.h"

namespace lazyrt {
namespace {

OpCase make(std::string name, std::vector<int64_t> shape, int axis, bool log = false,
            bool safe = false, Fill fill = Fill::normal(0, 2), DType dtype = DType::kFloat32) {
  fb::SoftmaxT t;
  t.axis = axis, t.log = log, t.safe = safe;
  return {
      std::move(name), case_attrs(t), {random_operand(std::move(shape), std::move(fill), dtype)}};
}

}  // namespace

CaseList softmax_cases() {
  constexpr double kInf = std::numeric_limits<double>::infinity();
  const Fill masked = Fill::of({1, -kInf, 2, -kInf, -kInf, -kInf});
  return {make("last", {3, 4, 10}, 2),
          make("middle", {3, 7, 5}, 1),
          make("first", {6, 5}, 0),
          make("vector", {17}, 0),
          make("single", {4, 1}, 1),
          make("empty_rows", {0, 4}, 1),
          make("empty_axis", {4, 0}, 1),
          make("long_rows", {3, 300}, 1),
          make("longest_rows", {2, 4099}, 1),
          make("long_columns", {2, 100, 19}, 1, true),
          make("attention", {2, 3, 9, 9}, 3),
          make("log_last", {5, 11}, 1, true),
          make("log_first", {5, 11}, 0, true),
          make("large_values", {3, 6}, 1, false, false, Fill::of({1000, 1001, 999, -1000})),
          make("log_large_values", {3, 6}, 1, true, false, Fill::of({1000, 1001, 999, -1000})),
          make("infinite", {2, 3}, 1, false, false, Fill::of({kInf, 1, 2, kInf, kInf, 0})),
          make("nan", {2, 3}, 1, false, false, Fill::of({kInf - kInf, 1, 2, 0, 1, 2})),
          make("masked", {2, 3}, 1, false, false, masked),
          make("safe_masked", {2, 3}, 1, false, true, masked),
          make("safe", {4, 9}, 1, false, true),
          make("f64", {3, 5}, 1, false, false, Fill::normal(), DType::kFloat64)};
}

}  // namespace lazyrt
