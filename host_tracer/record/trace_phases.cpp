#include "host_tracer/record/trace_phases.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <map>
#include <set>

#include "host_tracer/record/capture.h"
#include "host_tracer/record/trace_eval.h"
#include "host_tracer/trace/operands.h"
#include "host_tracer/trace/prune_trace.h"

namespace lazyrt {
namespace {

using Names = std::set<std::string>;

TraceValueId add_phase_number(Trace& trace, const std::string& name, LeafKind leaf, int64_t value) {
  TraceValue number;
  number.name = name;
  number.dtype = DType::kInt64;
  number.leaf = leaf;
  number.constant = to_sample(at::scalar_tensor(value, at::kLong)).data;
  trace.values.push_back(std::move(number));
  return static_cast<TraceValueId>(trace.values.size() - 1);
}

const TraceValue& value_of(const Trace& trace, TraceValueId id) {
  return trace.values[static_cast<size_t>(id)];
}

const std::string& name_of(const Trace& trace, const TraceState& state) {
  return value_of(trace, state.leaf).name;
}

/// Names of the states from which the roots are computed. A trace that only reads one has a buffer
/// there.
Names states_read(const Trace& trace, const std::vector<TraceValueId>& roots) {
  const std::vector<bool> live = live_values(trace, roots);
  Names names;
  for (size_t i = 0; i < live.size(); ++i) {
    const TraceValue& value = trace.values[i];
    const bool kept = value.leaf == LeafKind::kState || value.leaf == LeafKind::kBuffer;
    if (live[i] && kept) names.insert(value.name);
  }
  return names;
}

/// What a run returns and checks, and the next contents of the states of these names.
std::vector<TraceValueId> roots_of(const Trace& trace, const Names& states) {
  std::vector<TraceValueId> roots;
  for (const TraceOutput& out : trace.outputs) roots.push_back(out.value);
  for (const TraceGuard& guard : trace.guards) roots.push_back(guard.value);
  for (const TraceState& state : trace.states) {
    if (states.count(name_of(trace, state))) roots.push_back(state.next);
  }
  return roots;
}

/// States that are read in any of the traces, or that another such state is computed from.
Names live_states(const std::vector<Trace*>& traces, Names live) {
  for (size_t before = live.size() + 1; before != live.size();) {
    before = live.size();
    for (const Trace* trace : traces) live.merge(states_read(*trace, roots_of(*trace, live)));
  }
  return live;
}

/// A trace divided into what depends on inputs or states, and the constants that this needs.
class Folded {
 public:
  Folded(Trace trace, const Names& states, const Names& fixed) : trace_(std::move(trace)) {
    const auto gone = [&](const TraceState& s) { return fixed.count(name_of(trace_, s)) != 0; };
    auto& kept = trace_.states;
    kept.erase(std::remove_if(kept.begin(), kept.end(), gone), kept.end());
    prune_trace(trace_);
    find_dynamic(states);
    compute_constants();
  }

  const Trace& trace() const { return trace_; }
  const std::vector<const TraceNode*>& nodes() const { return nodes_; }
  bool dynamic(TraceValueId id) const { return dynamic_[static_cast<size_t>(id)]; }
  const at::Tensor& constant(TraceValueId id) const { return constants_.at(id); }
  /// The leaf of a state, or kNoTraceValue.
  TraceValueId leaf(const std::string& name) const {
    const auto found = leaves_.find(name);
    return found == leaves_.end() ? kNoTraceValue : found->second;
  }

 private:
  void find_dynamic(const Names& states) {
    dynamic_.resize(trace_.values.size());
    for (size_t i = 0; i < dynamic_.size(); ++i) {
      const TraceValue& value = trace_.values[i];
      const bool named = value.leaf != LeafKind::kNotLeaf && value.leaf != LeafKind::kInput;
      const bool state = named && !value.name.empty() && states.count(value.name) != 0;
      if (state) leaves_[value.name] = static_cast<TraceValueId>(i);
      dynamic_[i] = state || value.leaf == LeafKind::kInput;
    }
    for (const TraceNode& node : trace_.nodes) {
      bool depends = false;
      for_each_operand(node, [&](TraceValueId id) { depends = depends || dynamic(id); });
      if (!depends) continue;
      nodes_.push_back(&node);
      for (const TraceValueId id : node.outputs) {
        if (id != kNoTraceValue) dynamic_[static_cast<size_t>(id)] = true;
      }
    }
  }

  void compute_constants() {
    Trace fixed;
    fixed.values = trace_.values;
    const auto need = [&](TraceValueId id) {
      if (id == kNoTraceValue || dynamic(id) || constants_.count(id)) return;
      constants_[id] = at::Tensor();
      TraceOutput out;
      out.value = id;
      fixed.outputs.push_back(out);
    };
    for (const TraceNode* node : nodes_) for_each_operand(*node, need);
    for (const TraceOutput& out : trace_.outputs) need(out.value);
    for (const TraceGuard& guard : trace_.guards) need(guard.value);
    for (const TraceState& state : trace_.states) need(state.next);
    for (const TraceNode& node : trace_.nodes) {
      const bool depends = std::any_of(node.outputs.begin(), node.outputs.end(),
                                       [&](auto id) { return id != kNoTraceValue && dynamic(id); });
      if (!depends) fixed.nodes.push_back(node);
    }
    const auto values = evaluate_trace(fixed, {});
    TORCH_CHECK(values.ok(), "a constant cannot be computed");
    for (size_t i = 0; i < values->size(); ++i) constants_[fixed.outputs[i].value] = (*values)[i];
  }

  Trace trace_;
  std::vector<bool> dynamic_;
  std::vector<const TraceNode*> nodes_;
  std::map<TraceValueId, at::Tensor> constants_;
  std::map<std::string, TraceValueId> leaves_;
};

/// Walks two traces side by side.
class Comparison {
 public:
  Comparison(const Folded& a, const Folded& b) : a_(a), b_(b) {}

  bool same(const Names& states) {
    const Trace &x = a_.trace(), &y = b_.trace();
    if (x.inputs.size() != y.inputs.size() || x.outputs.size() != y.outputs.size()) return false;
    for (size_t i = 0; i < x.inputs.size(); ++i) {
      if (!join(x.inputs[i], y.inputs[i])) return false;
    }
    for (const std::string& name : states) {
      const TraceValueId in_a = a_.leaf(name), in_b = b_.leaf(name);
      if (in_a != kNoTraceValue && in_b != kNoTraceValue && !join(in_a, in_b)) return false;
    }
    if (a_.nodes().size() != b_.nodes().size()) return false;
    for (size_t i = 0; i < a_.nodes().size(); ++i) {
      if (!same_node(*a_.nodes()[i], *b_.nodes()[i])) return false;
    }
    return same_outputs() && same_guards() && same_states(states);
  }

 private:
  static bool same_type(const TraceValue& a, const TraceValue& b) {
    return a.dtype == b.dtype && a.shape == b.shape && a.wrapped_number == b.wrapped_number;
  }

  bool join(TraceValueId a, TraceValueId b) {
    if (!same_type(value_of(a_.trace(), a), value_of(b_.trace(), b))) return false;
    partner_[a] = b;
    return true;
  }

  bool same_value(TraceValueId a, TraceValueId b) {
    if (a == kNoTraceValue || b == kNoTraceValue) return a == b;
    if (a_.dynamic(a) != b_.dynamic(b)) return false;
    if (a_.dynamic(a)) {
      const auto found = partner_.find(a);
      return found != partner_.end() && found->second == b;
    }
    if (!same_type(value_of(a_.trace(), a), value_of(b_.trace(), b))) return false;
    const SampleTensor x = to_sample(a_.constant(a)), y = to_sample(b_.constant(b));
    return x.data.bytes == y.data.bytes &&
           std::equal(x.data.data, x.data.data + x.data.bytes, y.data.data);
  }

  bool same_arg(const TraceArg& a, const TraceArg& b) {
    if (a.index() != b.index()) return false;
    if (const auto* one = std::get_if<TensorArg>(&a))
      return same_value(one->value, std::get<TensorArg>(b).value);
    const auto* list = std::get_if<std::vector<TensorArg>>(&a);
    if (!list) return a == b;
    const auto& other = std::get<std::vector<TensorArg>>(b);
    return std::equal(list->begin(), list->end(), other.begin(), other.end(),
                      [this](auto x, auto y) { return same_value(x.value, y.value); });
  }

  bool same_node(const TraceNode& a, const TraceNode& b) {
    if (a.full_name() != b.full_name() || a.args.size() != b.args.size() ||
        a.outputs.size() != b.outputs.size()) {
      return false;
    }
    for (size_t i = 0; i < a.args.size(); ++i) {
      if (a.args[i].first != b.args[i].first || !same_arg(a.args[i].second, b.args[i].second))
        return false;
    }
    for (size_t i = 0; i < a.outputs.size(); ++i) {
      const bool none = a.outputs[i] == kNoTraceValue;
      if (none != (b.outputs[i] == kNoTraceValue)) return false;
      if (!none && !join(a.outputs[i], b.outputs[i])) return false;
    }
    return true;
  }

  bool same_outputs() {
    for (size_t i = 0; i < a_.trace().outputs.size(); ++i) {
      const TraceOutput &x = a_.trace().outputs[i], &y = b_.trace().outputs[i];
      if (x.literal != y.literal || !same_value(x.value, y.value)) return false;
    }
    return true;
  }

  bool same_guards() {
    const auto &x = a_.trace().guards, &y = b_.trace().guards;
    return std::equal(x.begin(), x.end(), y.begin(), y.end(), [this](const auto& a, const auto& b) {
      return a.seen == b.seen && same_value(a.value, b.value);
    });
  }

  bool same_states(const Names& names) {
    return std::all_of(names.begin(), names.end(), [this](const std::string& name) {
      const TraceValueId a = next_of(a_, name), b = next_of(b_, name);
      return a == kNoTraceValue || b == kNoTraceValue ? a == b : same_value(a, b);
    });
  }

  /// kNoTraceValue: the state stays as it is.
  static TraceValueId next_of(const Folded& folded, const std::string& name) {
    for (const TraceState& state : folded.trace().states) {
      if (name_of(folded.trace(), state) != name) continue;
      return state.next == state.leaf ? kNoTraceValue : state.next;
    }
    return kNoTraceValue;
  }

  const Folded& a_;
  const Folded& b_;
  std::map<TraceValueId, TraceValueId> partner_;
};

}  // namespace

void set_phase(Trace& trace, int64_t phase, int64_t next) {
  const TraceValueId leaf = add_phase_number(trace, kPhaseState, LeafKind::kState, 0);
  const TraceValueId then = add_phase_number(trace, "", LeafKind::kConstant, next);
  trace.states.push_back({leaf, then});
  TraceGuard guard;
  guard.value = leaf;
  guard.seen = phase;
  guard.text = kPhaseState;
  trace.guards.insert(trace.guards.begin(), std::move(guard));
}

void drop_known_guards(Trace& trace, const std::vector<std::string>& names,
                       const std::vector<std::string>& computed) {
  const Names known(names.begin(), names.end()), varying(computed.begin(), computed.end());
  const auto is_known = [&](const TraceGuard& guard) {
    const std::vector<bool> live = live_values(trace, {guard.value});
    for (size_t i = 0; i < live.size(); ++i) {
      const TraceValue& value = trace.values[i];
      const bool varies = value.leaf == LeafKind::kInput || varying.count(value.name) > 0 ||
                          (value.leaf == LeafKind::kState && known.count(value.name) == 0);
      if (live[i] && varies) return false;
    }
    return true;
  };
  auto& guards = trace.guards;
  guards.erase(std::remove_if(guards.begin(), guards.end(), is_known), guards.end());
}

std::vector<Source> guards_on(const Trace& trace, const std::vector<std::string>& names) {
  const Names wanted(names.begin(), names.end());
  std::vector<Source> sources;
  for (const TraceGuard& guard : trace.guards) {
    if (guard.check) continue;
    for (const std::string& name : states_read(trace, {guard.value})) {
      if (wanted.count(name)) sources.push_back(guard.source);
    }
  }
  return sources;
}

void set_initial(Trace& trace, const std::string& name, const SampleTensor& content) {
  for (TraceValue& value : trace.values) {
    const bool named = value.leaf == LeafKind::kParameter || value.leaf == LeafKind::kBuffer ||
                       value.leaf == LeafKind::kState;
    if (named && value.name == name) value.constant = content.data;
  }
}

std::vector<std::string> drop_unread_states(const std::vector<Trace*>& traces,
                                            const std::vector<std::string>& names) {
  const Names candidates(names.begin(), names.end());
  Names live;
  for (const Trace* trace : traces) {
    for (const TraceState& state : trace->states) {
      if (!candidates.count(name_of(*trace, state))) live.insert(name_of(*trace, state));
    }
  }
  live = live_states(traces, std::move(live));
  Names dropped;
  for (Trace* trace : traces) {
    const auto unread = [&](const TraceState& state) {
      return live.count(name_of(*trace, state)) == 0;
    };
    for (const TraceState& state : trace->states) {
      if (unread(state)) dropped.insert(name_of(*trace, state));
    }
    auto& states = trace->states;
    states.erase(std::remove_if(states.begin(), states.end(), unread), states.end());
    prune_trace(*trace);
  }
  return {dropped.begin(), dropped.end()};
}

bool compute_the_same(const Trace& a, const Trace& b, const std::vector<std::string>& fixed) {
  const Names constants(fixed.begin(), fixed.end());
  Names states;
  for (const Trace* trace : {&a, &b}) {
    for (const TraceState& state : trace->states) {
      if (!constants.count(name_of(*trace, state))) states.insert(name_of(*trace, state));
    }
  }
  try {
    const Folded x(a, states, constants), y(b, states, constants);
    return Comparison(x, y).same(states);
  } catch (const c10::Error&) {
    return false;
  }
}

}  // namespace lazyrt
