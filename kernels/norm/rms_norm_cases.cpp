#include "kernels/norm/norm_case_list.h"

namespace lazyrt {

CaseList rms_norm_cases() { return row_norm_cases<fb::RmsNormT>(2); }

}  // namespace lazyrt
