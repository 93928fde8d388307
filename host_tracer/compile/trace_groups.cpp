#include "host_tracer/compile/trace_groups.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <set>

namespace lazyrt {
namespace {

const TraceValue& value_of(const Trace& trace, TraceValueId id) {
  return trace.values[static_cast<size_t>(id)];
}

std::string type_text(const TraceValue& v) {
  std::string s = dtype_name(v.dtype) + std::string("[");
  for (size_t i = 0; i < v.shape.size(); ++i) s += (i ? "," : "") + std::to_string(v.shape[i]);
  return s + "]";
}

std::string at(const Source& source) {
  const std::string where = source.text();
  return where.empty() ? "" : " at " + where;
}

bool same_number(double a, double b) {
  return std::bit_cast<uint64_t>(a) == std::bit_cast<uint64_t>(b);
}

/// Equality by bits: a NaN is itself.
bool same_arg(const TraceArg& a, const TraceArg& b) {
  if (a.index() != b.index()) return false;
  if (const double* x = std::get_if<double>(&a)) return same_number(*x, std::get<double>(b));
  if (const auto* x = std::get_if<std::vector<double>>(&a)) {
    const auto& y = std::get<std::vector<double>>(b);
    return std::equal(x->begin(), x->end(), y.begin(), y.end(), same_number);
  }
  return a == b;
}

bool same_seen(const SeenNumber& a, const SeenNumber& b) {
  if (a.index() != b.index()) return false;
  if (const double* x = std::get_if<double>(&a)) return same_number(*x, std::get<double>(b));
  return a == b;
}

bool same_type(const TraceValue& a, const TraceValue& b) {
  return a.dtype == b.dtype && a.shape == b.shape;
}

bool same_leaf(const TraceValue& a, const TraceValue& b) {
  return a.leaf == b.leaf && a.wrapped_number == b.wrapped_number &&
         same_bytes(a.constant, b.constant);
}

std::string node_difference(const Trace& a, const TraceNode& x, const Trace& b,
                            const TraceNode& y) {
  if (x.full_name() != y.full_name())
    return x.full_name() + at(x.source) + ", there " + y.full_name() + at(y.source);
  const std::string who = x.full_name() + at(x.source);
  if (x.args.size() != y.args.size() || x.outputs != y.outputs) return who + ": its arguments";
  for (size_t i = 0; i < x.args.size(); ++i) {
    if (x.args[i].first == y.args[i].first && same_arg(x.args[i].second, y.args[i].second))
      continue;
    return who + ": its argument '" + x.args[i].first + "'";
  }
  for (TraceValueId id : x.outputs) {
    if (id == kNoTraceValue || same_type(value_of(a, id), value_of(b, id))) continue;
    return who + ": " + type_text(value_of(a, id)) + ", there " + type_text(value_of(b, id));
  }
  return "";
}

std::string leaf_difference(const Trace& a, const Trace& b) {
  for (size_t i = 0; i < std::min(a.values.size(), b.values.size()); ++i) {
    const TraceValue &x = a.values[i], &y = b.values[i];
    if (x.leaf == LeafKind::kNotLeaf && y.leaf == LeafKind::kNotLeaf) continue;
    const std::string name = x.name.empty() ? "value " + std::to_string(i) : "'" + x.name + "'";
    if (!same_type(x, y)) return name + ": " + type_text(x) + ", there " + type_text(y);
    if (!same_leaf(x, y)) return name + ", a constant of the graph: its content";
  }
  return "";
}

bool same_output(const TraceOutput& a, const TraceOutput& b) {
  if (a.value != b.value || a.literal.has_value() != b.literal.has_value()) return false;
  return !a.literal || same_seen(*a.literal, *b.literal);
}

std::string result_difference(const Trace& a, const Trace& b) {
  for (size_t i = 0; i < std::min(a.guards.size(), b.guards.size()); ++i) {
    const TraceGuard &x = a.guards[i], &y = b.guards[i];
    if (x.value != y.value || x.check != y.check || !same_seen(x.seen, y.seen))
      return "guard " + x.text + at(x.source);
  }
  if (a.guards.size() != b.guards.size()) return "the number of guards";
  for (size_t i = 0; i < a.outputs.size(); ++i) {
    if (!same_output(a.outputs[i], b.outputs[i])) return "output '" + a.outputs[i].name + "'";
  }
  for (size_t i = 0; i < a.states.size(); ++i) {
    if (a.states[i].leaf == b.states[i].leaf && a.states[i].next == b.states[i].next) continue;
    return "state '" + value_of(a, a.states[i].leaf).name + "'";
  }
  return "";
}

Failure other_interface(size_t sample, const std::string& what) {
  return {Error::kInvalidArgument, "sample " + std::to_string(sample + 1) +
                                       " does not have the interface of sample 1: " + what};
}

const char* kind_text(const Trace& trace, const TraceOutput& out) {
  static constexpr const char* kNumbers[] = {"a bool", "an int", "a float"};
  if (out.literal) return kNumbers[out.literal->index()];
  return dtype_name(value_of(trace, out.value).dtype);
}

Outcome<Done> check_interface(const Trace& a, const Trace& b, size_t sample) {
  if (a.inputs.size() != b.inputs.size()) {
    return other_interface(sample, std::to_string(b.inputs.size()) + " inputs instead of " +
                                       std::to_string(a.inputs.size()));
  }
  for (size_t i = 0; i < a.inputs.size(); ++i) {
    const TraceValue &x = value_of(a, a.inputs[i]), &y = value_of(b, b.inputs[i]);
    if (x.name != y.name) {
      return other_interface(sample, "input " + std::to_string(i) + " is '" + y.name +
                                         "' instead of '" + x.name + "'");
    }
    if (x.dtype != y.dtype) {
      return other_interface(sample, "input '" + x.name + "' is " + dtype_name(y.dtype) +
                                         " instead of " + dtype_name(x.dtype));
    }
  }
  if (a.outputs.size() != b.outputs.size()) {
    return other_interface(sample, std::to_string(b.outputs.size()) + " outputs instead of " +
                                       std::to_string(a.outputs.size()));
  }
  for (size_t i = 0; i < a.outputs.size(); ++i) {
    const TraceOutput &x = a.outputs[i], &y = b.outputs[i];
    const std::string wanted = kind_text(a, x), given = kind_text(b, y);
    if (x.name == y.name && wanted == given) continue;
    std::string text = "output " + std::to_string(i);
    text.append(" is '").append(y.name).append("' (").append(given).append(") instead of '");
    text.append(x.name).append("' (").append(wanted).append(")");
    return other_interface(sample, text);
  }
  return Done{};
}

/// Whether the program keeps the value from call to call.
bool is_kept(const TraceValue& v) {
  return v.leaf == LeafKind::kState || v.leaf == LeafKind::kBuffer ||
         v.leaf == LeafKind::kParameter;
}

/// A leaf of the trace by its name, or kNoTraceValue.
TraceValueId find_leaf(const Trace& trace, const std::string& name) {
  for (size_t i = 0; i < trace.values.size(); ++i) {
    const TraceValue& v = trace.values[i];
    if (is_kept(v) && v.name == name) return static_cast<TraceValueId>(i);
  }
  return kNoTraceValue;
}

/// Where the trace keeps the state `like`; adds it if the trace lacks it so far.
Outcome<TraceState> take_state(Trace& trace, const TraceValue& like) {
  TraceValueId leaf = find_leaf(trace, like.name);
  if (leaf == kNoTraceValue) {
    leaf = static_cast<TraceValueId>(trace.values.size());
    trace.values.push_back(like);
  }
  TraceValue& v = trace.values[static_cast<size_t>(leaf)];
  if (!same_type(v, like) || !same_bytes(v.constant, like.constant)) {
    return Failure{
        Error::kInvalidArgument,
        "buffer '" + like.name +
            "' does not begin with the same content in all samples: reset the model between them"};
  }
  v.leaf = LeafKind::kState;
  for (const TraceState& state : trace.states) {
    if (state.leaf == leaf) return state;
  }
  return TraceState{leaf, leaf};
}

/// A trace that treated as constant what another trace writes no longer describes the program.
Outcome<Done> check_asked(const Trace& trace, const std::set<std::string>& written) {
  for (const AskedConstant& asked : trace.asked) {
    if (written.count(asked.name) == 0) continue;
    return Failure{Error::kUnsupported,
                   "the program's path depends on what '" + asked.name + "' holds" +
                       at(asked.source) +
                       " in one sample (or at one size), and the program writes it in another "
                       "only: make it an input and a result, or let each sample write it"};
  }
  return Done{};
}

/// States are known by their names.
Outcome<Done> check_names(const Trace& trace) {
  std::set<std::string> names;
  for (const TraceState& state : trace.states) {
    const std::string& name = value_of(trace, state.leaf).name;
    if (names.insert(name).second) continue;
    return Failure{Error::kInternal, "a capture has two states of the name '" + name + "'"};
  }
  return Done{};
}

/// If one trace makes two attributes the same tensor, and another one writes into it, they would
/// wrongly be two states.
Outcome<Done> check_made_one(const std::vector<Trace>& traces) {
  std::set<std::string> made_one;
  for (const Trace& trace : traces) made_one.insert(trace.made_one.begin(), trace.made_one.end());
  for (const Trace& trace : traces) {
    for (const std::string& name : trace.written_in_place) {
      if (made_one.count(name) == 0) continue;
      return Failure{Error::kUnsupported,
                     "in one sample (or at one size) the program makes '" + name +
                         "' the same tensor as another attribute, and in one it writes into that "
                         "tensor in place, which changes both: clone() it where it is assigned"};
    }
  }
  return Done{};
}

/// Whether the value is the attribute, or lies in its list or dict.
bool is_of(const TraceValue& v, const std::string& attribute) {
  return v.name == attribute || v.name.starts_with(attribute + ".");
}

/// Shape, layout and existence of a tensor are read without a value of the graph, and a list is
/// read as a whole.
bool reads(const Trace& trace, const std::string& attribute) {
  const auto& names = trace.read_names;
  return std::any_of(names.begin(), names.end(),
                     [&](const std::string& name) {
                       return attribute == name || attribute.starts_with(name + ".");
                     }) ||
         std::any_of(trace.values.begin(), trace.values.end(),
                     [&](const TraceValue& v) { return is_kept(v) && is_of(v, attribute); });
}

bool has_state(const Trace& trace, const std::string& attribute) {
  return std::any_of(trace.states.begin(), trace.states.end(), [&](const TraceState& state) {
    return is_of(value_of(trace, state.leaf), attribute);
  });
}

/// A value that one trace sets without having a state for it would not reach another trace that
/// reads it.
Outcome<Done> check_set(const std::vector<Trace>& traces) {
  for (const Trace& trace : traces) {
    for (const std::string& name : trace.set_names) {
      if (has_state(trace, name)) continue;
      for (const Trace& other : traces) {
        if (&other == &trace || !reads(other, name)) continue;
        return Failure{Error::kUnsupported,
                       "one sample (or size) sets '" + name +
                           "' to what it held in the file, to another shape or dtype, or to the "
                           "tensor of another attribute, and another one reads it: the bundle has "
                           "no state for that. Write new values into it (copy_()), or export each "
                           "path by itself"};
      }
    }
  }
  return Done{};
}

using Traces = std::vector<const Trace*>;

/// Attributes whose tensors these traces' calls, one after the other, may leave with other strides
/// than the file's: tensors computed from them may inherit the strides.
std::set<std::string> relaid_by(const Traces& traces) {
  std::set<std::string> names;
  for (const Trace* trace : traces) names.insert(trace->relaid.begin(), trace->relaid.end());
  for (size_t before = names.size() + 1; before != names.size();) {
    before = names.size();
    for (const Trace* trace : traces) {
      const bool passed_on = std::any_of(
          names.begin(), names.end(), [&](const std::string& name) { return reads(*trace, name); });
      if (passed_on) names.insert(trace->set_names.begin(), trace->set_names.end());
    }
  }
  return names;
}

/// A tensor's layout in memory is not part of a state. What a trace leaves for itself is checked by
/// its capture.
Outcome<Done> check_layouts(const std::vector<Trace>& traces) {
  Traces all;
  for (const Trace& trace : traces) all.push_back(&trace);
  const std::set<std::string> relaid = relaid_by(all);
  if (relaid.empty()) return Done{};
  for (const Trace& trace : traces) {
    if (!trace.layouts_matter) continue;
    Traces others = all;
    std::erase(others, &trace);
    const std::set<std::string> by_others = relaid_by(others), by_itself = relaid_by({&trace});
    for (const std::string& name : relaid) {
      if (!reads(trace, name) || (by_others.count(name) == 0 && by_itself.count(name) != 0))
        continue;
      return Failure{Error::kUnsupported,
                     "one sample (or size) leaves '" + name +
                         "' with other strides, and in another one it depends on these strides "
                         "whether contiguous, reshape and the like copy: keep it contiguous()"};
    }
  }
  return Done{};
}

}  // namespace

Outcome<Done> share_states(std::vector<Trace>& traces) {
  LAZYRT_TRY(check_made_one(traces));
  LAZYRT_TRY(check_set(traces));
  LAZYRT_TRY(check_layouts(traces));
  for (const Trace& trace : traces) LAZYRT_TRY(check_names(trace));
  std::vector<TraceValue> all;
  std::set<std::string> written;
  for (const Trace& trace : traces) {
    written.insert(trace.only_set.begin(), trace.only_set.end());
    for (const TraceState& state : trace.states) {
      const TraceValue& v = value_of(trace, state.leaf);
      written.insert(v.name);
      const auto same = [&](const TraceValue& other) { return other.name == v.name; };
      if (std::none_of(all.begin(), all.end(), same)) all.push_back(v);
    }
  }
  for (Trace& trace : traces) {
    LAZYRT_TRY(check_asked(trace, written));
    std::vector<TraceState> states;
    for (const TraceValue& like : all) {
      auto state = take_state(trace, like);
      if (!state.ok()) return state.failure();
      states.push_back(*state);
    }
    trace.states = std::move(states);
  }
  return Done{};
}

std::string first_difference(const Trace& a, const Trace& b) {
  for (size_t i = 0; i < std::min(a.nodes.size(), b.nodes.size()); ++i) {
    std::string difference = node_difference(a, a.nodes[i], b, b.nodes[i]);
    if (!difference.empty()) return difference;
  }
  if (a.nodes.size() != b.nodes.size()) {
    const auto& longer = a.nodes.size() > b.nodes.size() ? a.nodes : b.nodes;
    const TraceNode& extra = longer[std::min(a.nodes.size(), b.nodes.size())];
    return "only one has " + extra.full_name() + at(extra.source);
  }
  std::string leaf = leaf_difference(a, b);
  if (!leaf.empty()) return leaf;
  if (a.values.size() != b.values.size() || a.inputs != b.inputs) return "the number of values";
  return result_difference(a, b);
}

Outcome<std::vector<TraceGroup>> group_traces(const std::vector<Trace>& traces) {
  for (size_t i = 1; i < traces.size(); ++i) LAZYRT_TRY(check_interface(traces[0], traces[i], i));
  std::vector<Trace> shared = traces;
  if (traces.size() > 1) LAZYRT_TRY(share_states(shared));
  std::vector<TraceGroup> groups;
  for (size_t i = 0; i < shared.size(); ++i) {
    const auto agrees = [&](const TraceGroup& group) {
      return first_difference(group.trace, shared[i]).empty();
    };
    const auto found = std::find_if(groups.begin(), groups.end(), agrees);
    if (found != groups.end()) {
      found->samples.push_back(i);
    } else {
      groups.push_back({std::move(shared[i]), {i}});
    }
  }
  return groups;
}

}  // namespace lazyrt
