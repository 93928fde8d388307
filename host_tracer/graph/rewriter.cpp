#include "host_tracer/graph/rewriter.h"

namespace lazyrt {

const Node* Rewriter::producer(ValueId id, fb::OpAttrs kind) const {
  const Node* node = graph_.producer(id);
  return node != nullptr && node->attrs.kind() == kind ? node : nullptr;
}

const Node* Rewriter::sole_producer(ValueId id, fb::OpAttrs kind) const {
  const Node* node = producer(id, kind);
  return node != nullptr && uses(id) == 1 ? node : nullptr;
}

bool Rewriter::is_constant(ValueId id) const {
  return id != kNoValue && value(id).kind == ValueKind::kConstant;
}

int32_t Rewriter::uses(ValueId id) const {
  const auto i = static_cast<size_t>(id);
  return i < uses_.size() ? uses_[i] : 0;
}

void Rewriter::read(ValueId id) {
  if (id == kNoValue) return;
  if (static_cast<size_t>(id) >= uses_.size()) uses_.resize(graph_.value_count(), 0);
  ++uses_[static_cast<size_t>(id)];
}

/// One reader less; a node nobody reads any more stops reading its operands.
void Rewriter::unread(ValueId id) {
  if (id == kNoValue || --uses_[static_cast<size_t>(id)] > 0) return;
  const Node* node = graph_.producer(id);
  if (node == nullptr) return;
  for (ValueId out : node->outputs) {
    if (uses(out) > 0) return;
  }
  const std::vector<ValueId> operands = node->inputs;
  for (ValueId operand : operands) unread(operand);
}

ValueId Rewriter::resolve(ValueId id) const {
  while (id != kNoValue && static_cast<size_t>(id) < replaced_.size() &&
         replaced_[static_cast<size_t>(id)] != kNoValue) {
    id = replaced_[static_cast<size_t>(id)];
  }
  return id;
}

Outcome<ValueId> Rewriter::add(const Attrs& attrs, const std::vector<ValueId>& inputs,
                               const Source& source) {
  auto made = graph_.add(attrs, inputs, source);
  if (made.ok()) {
    for (ValueId id : inputs) read(id);
  }
  return made;
}

void Rewriter::replace(ValueId from, ValueId to) {
  if (static_cast<size_t>(from) >= replaced_.size())
    replaced_.resize(graph_.value_count(), kNoValue);
  if (uses_.size() < graph_.value_count()) uses_.resize(graph_.value_count(), 0);
  replaced_[static_cast<size_t>(from)] = to;
  uses_[static_cast<size_t>(to)] += uses(from);
  Value& heir = graph_.value(to);
  if (heir.name.empty()) heir.name = graph_.value(from).name;
  if (heir.kind == ValueKind::kNode && !heir.origin.is_known())
    heir.origin = graph_.value(from).origin;
}

Outcome<bool> Rewriter::replace_node(const Node& node, const Attrs& attrs,
                                     const std::vector<ValueId>& inputs) {
  auto made = add(attrs, inputs, node.source);
  if (!made.ok()) return made.failure();
  replace(node.outputs[0], *made);
  return true;
}

/// The rule's answer, written into the journal of the graph if it has one.
Outcome<bool> Rewriter::apply(const Rule& rule, const Node& node) {
  RewriteJournal* journal = graph_.journal;
  if (journal == nullptr) return rule(*this, node);
  const size_t place = journal->steps.size();
  journal->steps.emplace_back();
  if (journal->kept.count(place) != 0) return false;
  const size_t begin = graph_.nodes().size(), values = graph_.value_count();
  Outcome<bool> changed = rule(*this, node);
  if (!changed.ok() || !*changed) return changed;
  RewriteJournal::Step& step = journal->steps[place];
  step.changed = true;
  for (size_t n = begin; n < graph_.nodes().size(); ++n) {
    const Node& made = graph_.nodes()[n];
    step.made.push_back(static_cast<int64_t>(made.attrs.kind()));
    step.made.insert(step.made.end(), made.inputs.begin(), made.inputs.end());
  }
  step.made.push_back(static_cast<int64_t>(graph_.value_count() - values));
  for (ValueId id : node.outputs) step.replaced.emplace_back(id, resolve(id));
  return changed;
}

Outcome<size_t> Rewriter::run(const Rule& rule) {
  size_t changes = 0;
  for (Node& node : graph_.take_nodes()) {
    for (ValueId& id : node.inputs) id = resolve(id);
    Outcome<bool> changed = apply(rule, node);
    if (!changed.ok()) return changed.failure();
    if (!*changed) {
      graph_.append(std::move(node));
      continue;
    }
    ++changes;
    for (ValueId id : node.inputs) unread(id);
  }
  graph_.for_each_root([this](ValueId& id) { id = resolve(id); });
  graph_.remove_dead();
  return changes;
}

Outcome<size_t> rewrite(Graph& graph, const Rewriter::Rule& rule) {
  return Rewriter(graph).run(rule);
}

}  // namespace lazyrt
