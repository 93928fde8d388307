#include "kernels/common/op_case.h"

namespace lazyrt {
namespace {

OpCase make(std::string name, int axis, const std::vector<std::vector<int64_t>>& shapes,
            DType dtype = DType::kFloat32) {
  fb::ConcatT t;
  t.axis = axis;
  OpCase c = {std::move(name), case_attrs(t), {}};
  for (const auto& shape : shapes)
    c.operands.push_back(random_operand(shape, Fill::integers(0, 99), dtype));
  return c;
}

}  // namespace

CaseList concat_cases() {
  CaseList cases = {make("rows", 0, {{2, 3}, {1, 3}, {4, 3}}),
                    make("columns", 1, {{3, 2}, {3, 5}}),
                    make("channels", 3, {{1, 4, 4, 3}, {1, 4, 4, 5}, {1, 4, 4, 1}}),
                    make("single", 1, {{2, 3}}),
                    make("with_empty", 0, {{2, 3}, {0, 3}, {1, 3}}),
                    make("all_empty", 0, {{0, 3}, {0, 3}}),
                    make("no_columns", 0, {{2, 0}, {3, 0}}),
                    make("vectors", 0, {{3}, {4}}),
                    make("middle", 1, {{2, 3, 4}, {2, 1, 4}}),
                    make("seven", 1, {{2, 1}, {2, 2}, {2, 1}, {2, 3}, {2, 1}, {2, 1}, {2, 2}})};
  for (DType dtype :
       {DType::kFloat64, DType::kFloat16, DType::kInt64, DType::kInt32, DType::kUInt8}) {
    cases.push_back(make(dtype_name(dtype), 1, {{3, 2}, {3, 5}}, dtype));
  }
  return cases;
}

}  // namespace lazyrt
