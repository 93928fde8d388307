#include "kernels/common/op_case.h"

namespace lazyrt {
namespace {

OpCase make(std::string name, std::vector<int64_t> shape, int groups, int axis,
            bool weighted = true, DType dtype = DType::kFloat32) {
  fb::GroupNormT t;
  t.groups = groups, t.channel_axis = axis, t.epsilon = 1e-5;
  const int64_t channels = shape[static_cast<size_t>(axis)];
  OpCase c = {std::move(name),
              case_attrs(t),
              {random_operand(std::move(shape), Fill::normal(1, 2), dtype)}};
  for (int i = 0; i < 2; ++i) {
    c.operands.push_back(weighted ? weight_operand({channels}, Fill::normal(1, 0.5), dtype)
                                  : absent_operand());
  }
  return c;
}

}  // namespace

CaseList group_norm_cases() {
  return {make("nchw", {2, 6, 3, 5}, 3, 1),
          make("nhwc", {2, 3, 5, 6}, 3, 3),
          make("layer", {2, 6, 4}, 1, 1),
          make("instance", {2, 5, 5, 4}, 4, 3),
          make("plain", {1, 4, 7}, 2, 1, false),
          make("no_space", {3, 8}, 2, 1),
          make("batch_zero", {0, 4, 3}, 2, 1),
          make("middle", {2, 3, 4, 5}, 2, 2),
          make("longest", {1, 3, 40, 41, 4}, 2, 4),
          make("f64", {2, 4, 3}, 2, 1, true, DType::kFloat64)};
}

}  // namespace lazyrt
