#include "kernels/common/op_case.h"

namespace lazyrt {
namespace {

OpCase make(std::string name, std::vector<int64_t> condition, std::vector<int64_t> a,
            std::vector<int64_t> b, DType dtype = DType::kFloat32) {
  return {std::move(name),
          case_attrs(fb::WhereT{}),
          {random_operand(std::move(condition), Fill::normal(), DType::kBool),
           random_operand(std::move(a), Fill::integers(0, 99), dtype),
           random_operand(std::move(b), Fill::integers(0, 99), dtype)}};
}

}  // namespace

CaseList where_cases() {
  CaseList cases = {make("same", {3, 5, 7}, {3, 5, 7}, {3, 5, 7}),
                    make("mask", {4, 4}, {2, 3, 4, 4}, {}),
                    make("columns", {5, 1}, {1, 7}, {5, 7}),
                    make("scalar_condition", {}, {9}, {9}),
                    make("scalars", {}, {}, {}),
                    make("empty", {0, 1}, {0, 3}, {3}),
                    make("condition_broadcast", {2, 1, 1, 9}, {2, 4, 3, 9}, {1})};
  for (DType dtype : {DType::kFloat64, DType::kFloat16, DType::kBFloat16, DType::kInt64,
                      DType::kInt32, DType::kInt16, DType::kInt8, DType::kUInt8}) {
    cases.push_back(make(std::string("row_") + dtype_name(dtype), {3, 1}, {3, 11}, {11}, dtype));
  }
  cases.push_back({"by_hand",
                   case_attrs(fb::WhereT{}),
                   {value_operand({3}, {1, 0, 1}, DType::kBool), value_operand({3}, {1, 2, 3}),
                    value_operand({}, {-9})},
                   1e-5,
                   false,
                   {1, -9, 3}});
  return cases;
}

}  // namespace lazyrt
