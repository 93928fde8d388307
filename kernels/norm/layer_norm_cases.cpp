#include "kernels/norm/norm_case_list.h"

namespace lazyrt {

CaseList layer_norm_cases() {
  CaseList cases = row_norm_cases<fb::LayerNormT>(3);
  cases.push_back({"weight_only",
                   case_attrs(fb::LayerNormT{}),
                   {random_operand({3, 7}), weight_operand({7}), absent_operand()}});
  cases.push_back({"large_mean",
                   case_attrs(fb::LayerNormT{}),
                   {random_operand({2, 64}, Fill::normal(1000, 1))},
                   1e-3});
  return cases;
}

}  // namespace lazyrt
