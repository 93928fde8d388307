#include "host_tracer/graph/evaluate.h"
#include "host_tracer/graph/rewriter.h"
#include "host_tracer/passes/pass_util.h"
#include "host_tracer/passes/passes.h"

namespace lazyrt {
namespace {

/// A folded result may be this much larger than its operands together; the result of an expand,
/// which costs little to run and rarely needs its memory, this much.
constexpr size_t kGrowthBytes = size_t{1} << 20;
constexpr size_t kExpandBytes = size_t{4} << 10;

bool all_constant(const Rewriter& r, const Node& node) {
  for (ValueId id : node.inputs) {
    if (id != kNoValue && !r.is_constant(id)) return false;
  }
  return true;
}

bool small_enough(const Rewriter& r, const Node& node) {
  size_t in = 0, out = 0;
  for (ValueId id : node.inputs) in += id == kNoValue ? 0 : r.value(id).bytes();
  for (ValueId id : node.outputs) out += r.value(id).bytes();
  return out <= in + (node.attrs.kind() == fb::OpAttrs::Expand ? kExpandBytes : kGrowthBytes);
}

/// A result that is one operand in another form keeps its name.
std::string inherited_name(const Rewriter& r, const Node& node) {
  for (ValueId id : node.inputs) {
    if (id != kNoValue && !r.value(id).name.empty()) return r.value(id).name;
  }
  return "";
}

Outcome<bool> fold_constants_at(Rewriter& r, const Node& node, bool only_small) {
  if (node.attrs.kind() == fb::OpAttrs::CustomOp || !all_constant(r, node)) return false;
  if (only_small && !small_enough(r, node)) return false;
  std::vector<TensorView> operands;
  for (ValueId id : node.inputs) {
    if (id == kNoValue) {
      operands.push_back({});
      continue;
    }
    const Value& v = r.value(id);
    operands.push_back({const_cast<uint8_t*>(v.constant.data), v.dtype, v.shape});
  }
  auto results = evaluate_node(r.graph(), node, operands);
  if (!results.ok()) return false;  // such as a bad index: reported at run, if the node ever runs
  const std::string name = inherited_name(r, node);
  for (size_t k = 0; k < node.outputs.size(); ++k) {
    const HostTensor& t = (*results)[k];
    r.replace(node.outputs[k], r.graph().add_constant(name, t.dtype, t.shape, t.constant_data()));
  }
  return true;
}

}  // namespace

Outcome<size_t> fold_constants(Graph& graph) {
  return rewrite(graph, [](Rewriter& r, const Node& n) { return fold_constants_at(r, n, true); });
}

Outcome<size_t> fold_all_constants(Graph& graph) {
  return rewrite(graph, [](Rewriter& r, const Node& n) { return fold_constants_at(r, n, false); });
}

}  // namespace lazyrt
