#include "kernels/rnn/rnn_case_list.h"

namespace lazyrt {

CaseList gru_cases() { return rnn_cases<fb::GruT>(3, 1); }

}  // namespace lazyrt
