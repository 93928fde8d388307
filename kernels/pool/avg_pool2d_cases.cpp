#include "kernels/pool/pool_case_list.h"

namespace lazyrt {

CaseList avg_pool2d_cases() {
  CaseList cases = pool_cases<fb::AvgPool2dT>();
  for (OpCase& c : pool_cases<fb::AvgPool2dT>()) {
    c.name += "_without_padding";
    c.attrs.AsAvgPool2d()->count_include_pad = false;
    cases.push_back(c);
  }
  fb::AvgPool2dT t;
  t.kernel_h = t.kernel_w = 2, t.divisor_override = 3;
  cases.push_back({"divisor", case_attrs(t), {random_operand({1, 4, 5, 3})}});
  t.divisor_override = 0;
  cases.push_back({"by_hand",
                   case_attrs(t),
                   {value_operand({1, 2, 3, 1}, {1, 2, 3, 4, 5, 6})},
                   1e-6,
                   false,
                   {3, 4}});
  return cases;
}

}  // namespace lazyrt
