#pragma once

#include "kernels/common/op_case.h"

namespace lazyrt {

/// Cases of gru (3 gates, 1 state) and lstm (4 gates, 2 states).
template <class Table>
CaseList rnn_cases(int gates, int states) {
  struct Sizes {
    const char* name;
    int64_t time, batch, input, hidden;
    int layers = 1;
    bool bidirectional = false, batch_first = false, bias = true;
    DType dtype = DType::kFloat32;
  };
  constexpr Sizes kSizes[] = {{"plain", 5, 2, 3, 4},
                              {"odd", 7, 3, 5, 9},
                              {"batch_first", 6, 2, 4, 5, 1, false, true},
                              {"no_bias", 4, 2, 3, 4, 1, false, false, false},
                              {"two_layers", 5, 2, 3, 4, 2},
                              {"three_layers_first", 4, 2, 3, 5, 3, false, true},
                              {"bidirectional", 5, 2, 3, 4, 1, true},
                              {"bidirectional_layers", 5, 2, 3, 4, 2, true, true},
                              {"one_step", 1, 1, 3, 4},
                              {"width_one", 3, 1, 1, 1},
                              {"no_batch", 3, 0, 2, 4},
                              {"wide", 9, 1, 40, 64},
                              {"f64", 3, 2, 3, 4, 1, false, false, true, DType::kFloat64}};
  CaseList cases;
  for (const Sizes& s : kSizes) {
    Table t;
    t.layers = s.layers, t.bidirectional = s.bidirectional, t.batch_first = s.batch_first;
    t.has_bias = s.bias;
    const int64_t directions = s.bidirectional ? 2 : 1;
    const auto weight = [&](std::vector<int64_t> shape) {
      return weight_operand(std::move(shape), Fill::normal(0, 0.4), s.dtype);
    };
    OpCase c = {s.name, case_attrs(t), {}, 2e-5};
    c.operands.push_back(s.batch_first
                             ? random_operand({s.batch, s.time, s.input}, Fill::normal(), s.dtype)
                             : random_operand({s.time, s.batch, s.input}, Fill::normal(), s.dtype));
    for (int i = 0; i < states; ++i) {
      c.operands.push_back(
          random_operand({s.layers * directions, s.batch, s.hidden}, Fill::normal(), s.dtype));
    }
    for (int64_t cell = 0; cell < s.layers * directions; ++cell) {
      const int64_t width = cell < directions ? s.input : directions * s.hidden;
      c.operands.push_back(weight({gates * s.hidden, width}));
      c.operands.push_back(weight({gates * s.hidden, s.hidden}));
      for (int i = 0; s.bias && i < 2; ++i) c.operands.push_back(weight({gates * s.hidden}));
    }
    cases.push_back(c);
  }
  return cases;
}

}  // namespace lazyrt
