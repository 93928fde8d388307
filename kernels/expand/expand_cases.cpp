#include "kernels/common/op_case.h"

namespace lazyrt {
namespace {

OpCase make(std::string name, std::vector<int64_t> from, std::vector<int64_t> to,
            DType dtype = DType::kFloat32) {
  fb::ExpandT t;
  t.shape = std::move(to);
  return {std::move(name),
          case_attrs(t),
          {random_operand(std::move(from), Fill::integers(0, 99), dtype)}};
}

}  // namespace

CaseList expand_cases() {
  CaseList cases = {make("row", {5}, {3, 5}),
                    make("column", {3, 1}, {3, 5}),
                    make("scalar", {}, {2, 3}),
                    make("same", {3, 4}, {3, 4}),
                    make("heads", {2, 2, 1, 4, 3}, {2, 2, 3, 4, 3}),
                    make("grow", {1, 4}, {2, 3, 4}),
                    make("empty", {1, 4}, {0, 4}),
                    make("empty_input", {0, 1}, {0, 4}),
                    make("outer", {4, 1, 1}, {4, 3, 2})};
  for (DType dtype :
       {DType::kFloat64, DType::kBFloat16, DType::kInt64, DType::kInt32, DType::kUInt8}) {
    cases.push_back(make(dtype_name(dtype), {3, 1}, {2, 3, 5}, dtype));
  }
  return cases;
}

}  // namespace lazyrt
