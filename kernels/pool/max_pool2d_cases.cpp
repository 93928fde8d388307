#include <cmath>

#include "kernels/pool/pool_case_list.h"

namespace lazyrt {

CaseList max_pool2d_cases() {
  CaseList cases = pool_cases<fb::MaxPool2dT>();
  fb::MaxPool2dT t;
  t.kernel_h = t.kernel_w = 2, t.dilation_h = t.dilation_w = 2;
  cases.push_back({"dilated", case_attrs(t), {random_operand({1, 7, 7, 5})}});
  fb::MaxPool2dT two;
  two.kernel_h = two.kernel_w = two.stride_h = two.stride_w = 2;
  cases.push_back(
      {"nan", case_attrs(two), {value_operand({1, 4, 4, 1}, {1, std::nan(""), -3, 4, 5})}});
  cases.push_back({"by_hand",
                   case_attrs(two),
                   {value_operand({1, 2, 4, 1}, {1, 2, 3, 4, 8, 7, 6, 5})},
                   1e-6,
                   false,
                   {8, 6}});
  return cases;
}

}  // namespace lazyrt
