#include "kernels/rnn/rnn_case_list.h"

namespace lazyrt {

CaseList lstm_cases() { return rnn_cases<fb::LstmT>(4, 2); }

}  // namespace lazyrt
