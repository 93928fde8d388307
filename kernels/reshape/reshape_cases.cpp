#include "kernels/common/op_case.h"

namespace lazyrt {
namespace {

OpCase make(std::string name, std::vector<int64_t> from, std::vector<int64_t> to,
            DType dtype = DType::kFloat32) {
  fb::ReshapeT t;
  t.shape = std::move(to);
  return {std::move(name),
          case_attrs(t),
          {random_operand(std::move(from), Fill::integers(0, 99), dtype)}};
}

}  // namespace

CaseList reshape_cases() {
  CaseList cases = {
      make("flatten", {2, 3, 4}, {24}), make("split", {6, 4}, {2, 3, 2, 2}),
      make("scalar", {1, 1}, {}),       make("from_scalar", {}, {1}),
      make("empty", {0, 3}, {2, 0}),    make("rank_eight", {256}, {2, 2, 2, 2, 2, 2, 2, 2})};
  for (DType dtype :
       {DType::kFloat64, DType::kFloat16, DType::kInt64, DType::kInt16, DType::kUInt8}) {
    cases.push_back(make(dtype_name(dtype), {3, 5}, {5, 3}, dtype));
  }
  return cases;
}

}  // namespace lazyrt
