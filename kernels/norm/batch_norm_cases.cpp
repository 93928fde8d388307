#include "kernels/common/op_case.h"

namespace lazyrt {
namespace {

OpCase make(std::string name, std::vector<int64_t> shape, int axis, bool weighted = true,
            DType dtype = DType::kFloat32) {
  fb::BatchNormT t;
  t.channel_axis = axis, t.epsilon = 1e-3;
  const int64_t channels = shape[static_cast<size_t>(axis)];
  const auto weight = [&] {
    return weighted ? weight_operand({channels}, Fill::normal(1, 0.5), dtype) : absent_operand();
  };
  return {std::move(name),
          case_attrs(t),
          {random_operand(std::move(shape), Fill::normal(), dtype), weight(), weight(),
           weight_operand({channels}, Fill::normal(), dtype),
           weight_operand({channels}, Fill::uniform(0.5, 2), dtype)}};
}

}  // namespace

CaseList batch_norm_cases() {
  return {make("nchw", {2, 5, 3, 4}, 1),
          make("nhwc", {2, 3, 4, 5}, 3),
          make("rows", {7, 9}, 1),
          make("plain", {2, 5, 3}, 1, false),
          make("one_channel", {2, 1, 6}, 1),
          make("batch_zero", {0, 4, 2}, 1),
          make("f64", {3, 4}, 1, true, DType::kFloat64)};
}

}  // namespace lazyrt
