#include "kernels/common/op_case.h"

namespace lazyrt {
namespace {

OpCase make(const char* name, std::vector<int64_t> shape, DType dtype = DType::kFloat32) {
  return {
      name, case_attrs(fb::LuT{}), {random_operand(std::move(shape), Fill::normal(), dtype)}, 1e-4};
}

}  // namespace

CaseList lu_cases() {
  return {make("square", {5, 5}),
          make("batch", {2, 3, 4, 4}),
          make("one", {1, 1}),
          make("large", {17, 17}),
          make("nothing", {0, 0}),
          make("no_matrices", {0, 3, 3}),
          make("f64", {2, 4, 4}, DType::kFloat64),
          {"singular", case_attrs(fb::LuT{}), {value_operand({3, 3}, {1, 2, 3, 2, 4, 6, 1, 1, 1})}},
          {"zeros", case_attrs(fb::LuT{}), {value_operand({2, 3, 3}, {0})}},
          {"swapped",
           case_attrs(fb::LuT{}),
           {value_operand({3, 3}, {0, 2, 1, 4, 0, 8, 2, 1, 0})},
           1e-6,
           false,
           {4, 0, 8, 0, 2, 1, 0.5, 0.5, -4.5}}};
}

}  // namespace lazyrt
