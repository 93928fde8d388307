#include <cmath>
#include <limits>

#include "kernels/common/op_case.h"

namespace lazyrt {
namespace {

OpCase make(std::string name, std::vector<int64_t> shape, int axis, int64_t k, bool largest = true,
            Fill fill = Fill::normal(), DType dtype = DType::kFloat32) {
  fb::TopKT t;
  t.axis = axis, t.k = k, t.largest = largest;
  return {
      std::move(name), case_attrs(t), {random_operand(std::move(shape), std::move(fill), dtype)}};
}

}  // namespace

CaseList top_k_cases() {
  constexpr double kInf = std::numeric_limits<double>::infinity();
  const Fill special = Fill::of({1, std::nan(""), kInf, -kInf, 3});
  CaseList cases = {make("last", {3, 10}, 1, 4),
                    make("smallest", {3, 10}, 1, 4, false),
                    make("first", {9, 4}, 0, 3),
                    make("middle", {2, 6, 3}, 1, 2),
                    make("all", {2, 7}, 1, 7),
                    make("none", {2, 7}, 1, 0),
                    make("one", {5}, 0, 1),
                    make("no_rows", {0, 5}, 1, 2),
                    make("special", {1, 5}, 1, 5, true, special),
                    make("special_smallest", {1, 5}, 1, 5, false, special),
                    make("long", {2, 1000}, 1, 10),
                    make("i8", {5, 9}, 1, 3, true, Fill::integers(-128, 127), DType::kInt8),
                    make("f64", {3, 9}, 1, 2, true, Fill::normal(), DType::kFloat64)};
  for (const int64_t k : {1, 2, 3, 9, 40, 97}) {
    for (const bool largest : {true, false}) {
      OpCase unsorted = make("unsorted_" + std::to_string(k) + (largest ? "" : "_smallest"),
                             {3, 97}, 1, k, largest);
      fb::TopKT t;
      t.axis = 1, t.k = k, t.largest = largest, t.sorted = false;
      unsorted.attrs = case_attrs(t);
      cases.push_back(std::move(unsorted));
    }
  }
  constexpr double kMost = 9.2e18;
  cases.push_back(
      make("i64_extremes", {3, 4}, 1, 3, true, Fill::of({-kMost, 0, kMost, -1, 1}), DType::kInt64));
  cases.push_back(
      make("i64_columns", {30, 3}, 0, 2, false, Fill::integers(-1000000, 1000000), DType::kInt64));
  cases.push_back(
      make("i32", {2, 50}, 1, 30, true, Fill::integers(-2000000000, 2000000000), DType::kInt32));
  OpCase ties = make("ties_by_hand", {6}, 0, 3, true, Fill::of({1, 3, 2, 3, 3, 0}));
  ties.expected = {3, 3, 3};
  cases.push_back(ties);
  OpCase integers = make("i64_by_hand", {4}, 0, 2, false, Fill::of({4, -1, 7, 2}), DType::kInt64);
  integers.expected = {-1, 2};
  cases.push_back(integers);
  return cases;
}

}  // namespace lazyrt
