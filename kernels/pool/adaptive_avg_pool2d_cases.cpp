#include "kernels/common/op_case.h"

namespace lazyrt {
namespace {

OpCase make(std::string name, std::vector<int64_t> shape, int out_h, int out_w,
            DType dtype = DType::kFloat32) {
  fb::AdaptiveAvgPool2dT t;
  t.out_h = out_h, t.out_w = out_w;
  return {
      std::move(name), case_attrs(t), {random_operand(std::move(shape), Fill::normal(), dtype)}};
}

}  // namespace

CaseList adaptive_avg_pool2d_cases() {
  return {make("global", {2, 7, 7, 16}, 1, 1),
          make("even", {1, 8, 6, 5}, 4, 3),
          make("odd", {1, 7, 10, 3}, 3, 4),
          make("grow", {1, 3, 4, 2}, 5, 7),
          make("same", {1, 4, 4, 3}, 4, 4),
          make("row", {1, 1, 9, 4}, 1, 2),
          make("nothing", {1, 4, 4, 3}, 0, 2),
          make("batch_zero", {0, 4, 4, 3}, 2, 2),
          make("f64", {1, 5, 5, 2}, 2, 2, DType::kFloat64)};
}

}  // namespace lazyrt
