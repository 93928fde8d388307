#include "host_tracer/graph/rewriter.h"

#include <algorithm>
#include <optional>

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

void Rewriter::set_uses(ValueId id, int32_t count) {
  if (static_cast<size_t>(id) >= uses_.size()) uses_.resize(graph_.value_count(), 0);
  patch_.uses.emplace_back(id, uses(id));
  uses_[static_cast<size_t>(id)] = count;
}

void Rewriter::read(ValueId id) {
  if (id != kNoValue) set_uses(id, uses(id) + 1);
}

/// One reader less; a node nobody reads any more stops reading its operands.
void Rewriter::unread(ValueId id) {
  std::vector<ValueId> open = {id};  // no recursion: it goes as deep as the graph
  while (!open.empty()) {
    const ValueId last = open.back();
    open.pop_back();
    if (last == kNoValue || --uses_[static_cast<size_t>(last)] > 0) continue;
    const Node* node = graph_.producer(last);
    if (node == nullptr) continue;
    const bool read = std::any_of(node->outputs.begin(), node->outputs.end(),
                                  [this](ValueId out) { return uses(out) > 0; });
    if (!read) open.insert(open.end(), node->inputs.begin(), node->inputs.end());
  }
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
  patch_.replaced.emplace_back(from, replaced_[static_cast<size_t>(from)]);
  replaced_[static_cast<size_t>(from)] = to;
  set_uses(to, uses(to) + uses(from));
  Value& heir = graph_.value(to);
  if (heir.name.empty() && !graph_.value(from).name.empty()) {
    patch_.named.push_back(to);
    heir.name = graph_.value(from).name;
  }
  const Origin& origin = graph_.value(from).origin;
  if (heir.kind != ValueKind::kNode || heir.origin.is_known() || !origin.is_known()) return;
  patch_.placed.push_back(to);
  heir.origin = origin;
}

Outcome<bool> Rewriter::replace_node(const Node& node, const Attrs& attrs,
                                     const std::vector<ValueId>& inputs) {
  auto made = graph_.add_node(attrs, inputs, node.source);
  if (!made.ok()) return made.failure();
  for (ValueId id : inputs) read(id);
  for (size_t k = 0; k < node.outputs.size(); ++k) replace(node.outputs[k], (*made)[k]);
  return true;
}

Outcome<Done> Rewriter::check_replaced(const Node& node, ValueId from, ValueId to) const {
  const Value &a = graph_.value(from), &b = graph_.value(to);
  const auto text = [](ValueId id, const Value& v) {
    return "%" + std::to_string(id) + " " + dtype_name(v.dtype) + shape_text(v.shape).text;
  };
  const bool same_type = a.dtype == b.dtype && a.shape == b.shape;
  const bool made = b.kind != ValueKind::kNode || graph_.producer(to) != nullptr;
  if (same_type && made) return Done{};
  return Failure{Error::kInternal, std::string(node.attrs.name()) + " at " + node.source.text() +
                                       ": " + text(from, a) + " was replaced by " + text(to, b) +
                                       (made ? "" : ", which is not made before it")};
}

Outcome<Done> Rewriter::check(const Node& node) const {
  for (const auto& [from, before] : patch_.replaced) {
    LAZYRT_TRY(check_replaced(node, from, resolve(from)));
  }
  for (ValueId id : node.outputs) {
    if (uses(id) == 0 || resolve(id) != id) continue;
    return Failure{Error::kInternal, std::string(node.attrs.name()) + " at " + node.source.text() +
                                         ": %" + std::to_string(id) +
                                         " is read, but was not replaced"};
  }
  return Done{};
}

void Rewriter::undo() {
  for (auto it = patch_.uses.rbegin(); it != patch_.uses.rend(); ++it) {
    uses_[static_cast<size_t>(it->first)] = it->second;
  }
  for (auto it = patch_.replaced.rbegin(); it != patch_.replaced.rend(); ++it) {
    replaced_[static_cast<size_t>(it->first)] = it->second;
  }
  for (ValueId id : patch_.named) graph_.value(id).name.clear();
  for (ValueId id : patch_.placed) graph_.value(id).origin = Origin();
  graph_.take_back(patch_.nodes, patch_.values);
  if (uses_.size() > patch_.values) uses_.resize(patch_.values);
  if (replaced_.size() > patch_.values) replaced_.resize(patch_.values);
}

/// The rule's answer; what it did is checked, and undone if it is not to be.
Outcome<bool> Rewriter::patch(const Rule& rule, const Node& node) {
  patch_ = Patch{graph_.nodes().size(), graph_.value_count(), {}, {}, {}, {}};
  Outcome<bool> changed = rule(*this, node);
  if (changed.ok() && *changed) {
    const Outcome<Done> good = check(node);
    if (!good.ok()) changed = good.failure();
  }
  if (!changed.ok() || !*changed) undo();
  return changed;
}

/// The same, written into the journal of the graph if it has one.
Outcome<bool> Rewriter::apply(const Rule& rule, const Node& node) {
  RewriteJournal* journal = graph_.journal;
  if (journal == nullptr) return patch(rule, node);
  const size_t place = journal->steps.size();
  journal->steps.emplace_back();
  if (journal->kept.count(place) != 0) return false;
  const size_t begin = graph_.nodes().size(), values = graph_.value_count();
  Outcome<bool> changed = patch(rule, node);
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
  std::optional<Failure> failed;
  for (Node& node : graph_.take_nodes()) {
    for (ValueId& id : node.inputs) id = resolve(id);
    Outcome<bool> changed = failed ? Outcome<bool>(false) : apply(rule, node);
    if (!changed.ok()) failed = changed.failure();
    if (!changed.ok() || !*changed) {
      graph_.append(std::move(node));
      continue;
    }
    ++changes;
    for (ValueId id : node.inputs) unread(id);
  }
  graph_.for_each_root([this](ValueId& id) { id = resolve(id); });
  graph_.remove_dead();
  if (failed) return *failed;
  return changes;
}

Outcome<size_t> rewrite(Graph& graph, const Rewriter::Rule& rule) {
  return Rewriter(graph).run(rule);
}

}  // namespace lazyrt
