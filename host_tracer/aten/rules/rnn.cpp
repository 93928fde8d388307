// Recurrent networks that a trace keeps whole.

#include "aten/rule_lists.h"

namespace lazyrt {
namespace {

/// Weights of one layer and direction: w_ih, w_hh and two biases.
size_t expected_params(int64_t layers, bool bidirectional, bool has_bias) {
  return static_cast<size_t>(layers) * (bidirectional ? 2 : 1) * (has_bias ? 4 : 2);
}

/// Fills the attributes that the tables share; false after a refusal.
template <class TableT>
bool read_attrs(RuleContext& c, TableT& op, size_t params) {
  op.layers = static_cast<int32_t>(c.integer("num_layers"));
  op.bidirectional = c.boolean("bidirectional");
  op.batch_first = c.boolean("batch_first");
  op.has_bias = c.boolean("has_biases");
  if (c.boolean("train") && c.number("dropout").as_double() != 0.0) {
    c.refuse("with dropout in training draws random numbers; call model.eval() before the export");
    return false;
  }
  if (params != expected_params(op.layers, op.bidirectional, op.has_bias)) {
    c.refuse("with projections (proj_size) is not supported as one operator");
    return false;
  }
  return c.ok();
}

void set_all(RuleContext& c, const std::vector<ValueId>& outputs) {
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (c.used(i)) c.set(i, outputs[i]);
  }
}

void gru(RuleContext& c) {
  const std::vector<ValueId> params = c.tensors("params");
  fb::GruT op;
  if (!read_attrs(c, op, params.size())) return;
  std::vector<ValueId> operands = {c.tensor("input"), c.tensor("hx")};
  operands.insert(operands.end(), params.begin(), params.end());
  set_all(c, c.add_multi(op, operands));
}

void lstm(RuleContext& c) {
  const std::vector<ValueId> params = c.tensors("params");
  const std::vector<ValueId> state = c.tensors("hx");
  fb::LstmT op;
  if (!read_attrs(c, op, params.size())) return;
  std::vector<ValueId> operands = {c.tensor("input")};
  operands.insert(operands.end(), state.begin(), state.end());
  operands.insert(operands.end(), params.begin(), params.end());
  set_all(c, c.add_multi(op, operands));
}

constexpr const char* kPacked = "of packed sequences is not supported; pass padded tensors";

constexpr RuleEntry kRnnEntries[] = {
    {"gru.input", gru},
    {"lstm.input", lstm},
    {"gru.data", nullptr, kPacked},
    {"lstm.data", nullptr, kPacked},
    {"_pack_padded_sequence", nullptr, kPacked},
    {"_pad_packed_sequence", nullptr, kPacked},
};

}  // namespace

const RuleList rnn_rules{kRnnEntries};

}  // namespace lazyrt
