#include "host_tracer/record/value_cache.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <unordered_set>

#include "host_tracer/record/eager_call.h"

namespace lazyrt {
namespace {

using torch::lazy::Node;

/// A second trace keeps the first one's count of rows, whatever it finds: surplus rows are dropped,
/// missing ones point at element 0.
at::Tensor fit_rows(const at::Tensor& t, int64_t rows) {
  if (t.size(0) >= rows) return t.narrow(0, 0, rows);
  return at::constant_pad_nd(t, {0, 0, 0, rows - t.size(0)});
}

size_t bytes_of(const std::vector<at::Tensor>& tensors) {
  size_t bytes = 0;
  for (const at::Tensor& t : tensors) bytes += t.defined() ? t.nbytes() : 0;
  return bytes;
}

}  // namespace

at::Tensor ValueCache::get(const torch::lazy::Value& value) {
  for (const OpNode* op : missing(value.node.get())) evaluate(*op);
  const at::Tensor t = result(value.node.get(), value.index);
  if (bytes_ > sweep_at_) sweep();
  return t;
}

std::vector<const OpNode*> ValueCache::missing(const Node* root) const {
  std::vector<const OpNode*> ops;
  std::unordered_set<const Node*> seen;
  std::vector<const Node*> open = {root};
  while (!open.empty()) {
    const Node* node = open.back();
    open.pop_back();
    if (results_.count(node) || !seen.insert(node).second) continue;
    const OpNode* op = as_op(node);
    if (!op) continue;
    ops.push_back(op);
    for (const auto& operand : node->operands()) open.push_back(operand.node);
  }
  std::sort(ops.begin(), ops.end(), [](const OpNode* a, const OpNode* b) {
    return a->call().sequence < b->call().sequence;
  });
  return ops;
}

at::Tensor ValueCache::result(const Node* node, size_t index) const {
  if (const LeafNode* leaf = as_leaf(node)) return leaf->data();
  return results_.at(node).at(index);
}

void ValueCache::evaluate(const OpNode& op) {
  const OpNode::Call& call = op.call();
  const IdToTensor tensor_of = [&](TraceValueId id) {
    const auto& operand = op.operand(static_cast<size_t>(id));
    return result(operand.node, operand.index);
  };
  const Results all = call_eagerly(call.op, call.overload, call.args, tensor_of);
  TORCH_CHECK(all.size() == call.results.size(), call.op, ": another number of results");
  Results kept(op.shapes().size());
  for (size_t i = 0; i < all.size(); ++i) {
    if (call.results[i] < 0) continue;
    const auto place = static_cast<size_t>(call.results[i]);
    const auto& shape = op.shape(place);
    kept[place] = call.op == "aten::nonzero" ? fit_rows(all[i], shape.size(0)) : all[i];
    TORCH_CHECK(
        kept[place].sizes() == shape.sizes() && kept[place].scalar_type() == shape.scalar_type(),
        call.op, ": captured as ", shape.to_string(), ", eager gives ", kept[place].scalar_type(),
        kept[place].sizes());
  }
  bytes_ += bytes_of(kept);
  results_.emplace(&op, std::move(kept));
  for (const auto& operand : op.operands()) ++past_uses_[operand.node];
}

/// Drops nodes that only the capture's list and evaluated nodes hold: no tensor of the program and
/// no node that still has to be computed refers to them.
void ValueCache::sweep() {
  for (auto it = results_.begin(); it != results_.end();) {
    const auto place = static_cast<size_t>(as_op(it->first)->call().sequence);
    const auto uses = past_uses_.find(it->first);
    const long past = uses == past_uses_.end() ? 0 : uses->second;
    if (nodes_[place].use_count() > 1 + past) {
      ++it;
      continue;
    }
    bytes_ -= bytes_of(it->second);
    it = results_.erase(it);
  }
  sweep_at_ = std::max(sweep_at_, 2 * bytes_);
}

}  // namespace lazyrt
