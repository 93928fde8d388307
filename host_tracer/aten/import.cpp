#include "host_tracer/aten/import.h"

#include <algorithm>
#include <map>
#include <optional>

#include "host_tracer/aten/rule.h"
#include "host_tracer/aten/static_value.h"
#include "host_tracer/graph/guards.h"
#include "host_tracer/trace/operands.h"

namespace lazyrt {
namespace {

constexpr size_t kMaxSourceLines = 4;

/// Calls of one operator that failed for one reason.
struct Problem {
  std::string op;
  std::string why;
  Error error = Error::kUnsupported;
  int64_t calls = 0;
  std::vector<std::string> sources;  ///< distinct, the first kMaxSourceLines
};

class Importer {
 public:
  Importer(const Trace& trace, const OpTable& ops, bool any_size) : trace_(trace), graph_(ops) {
    state_.any_size = any_size;
  }

  Outcome<Graph> run(ImportReport* report);

 private:
  Outcome<Done> check_trace() const;
  void find_live();
  void use(TraceValueId id);
  Outcome<Done> add_inputs();
  Outcome<Done> add_states();
  void import_node(size_t index);
  void load_leaves(const TraceNode& node);
  void load_leaf(TraceValueId id);
  bool reads_poison(const TraceNode& node) const;
  bool reads_half(const TraceNode& node) const;
  void poison(const TraceNode& node);
  void apply_rule(const TraceNode& node, const RuleMatch& match);
  void add_problem(const TraceNode& node, Error error, const std::string& why);
  Outcome<Done> add_outputs();
  Outcome<Done> add_guards();
  Outcome<Done> add_guard(const TraceGuard& guard);
  Outcome<Done> set_next_states();
  void set_origins();
  Outcome<ValueId> root(TraceValueId id, const std::string& what);
  std::optional<bool> static_truth(const GraphGuard& guard) const;
  Failure problems_failure() const;
  void fill_report(ImportReport& report) const;

  const Trace& trace_;
  Graph graph_;
  ImportState state_;
  std::vector<bool> live_;      ///< by node
  std::vector<bool> poisoned_;  ///< by TraceValueId: comes from a call that failed
  std::vector<Problem> problems_;
};

Outcome<Done> Importer::check_trace() const {
  const auto count = static_cast<TraceValueId>(trace_.values.size());
  const auto bad = [count](TraceValueId id) { return id < kNoTraceValue || id >= count; };
  for (const TraceNode& node : trace_.nodes) {
    bool ok = std::none_of(node.outputs.begin(), node.outputs.end(), bad);
    for_each_operand(node, [&](TraceValueId id) { ok = ok && !bad(id); });
    if (!ok)
      return Failure{Error::kInternal, node.full_name() + " names a value outside the trace"};
  }
  bool ok = true;
  for (const TraceGuard& guard : trace_.guards) ok = ok && guard.value >= 0 && !bad(guard.value);
  for (const TraceState& state : trace_.states) {
    ok = ok && state.leaf >= 0 && !bad(state.leaf) && state.next >= 0 && !bad(state.next) &&
         trace_.values[static_cast<size_t>(state.leaf)].leaf == LeafKind::kState;
  }
  if (!ok)
    return Failure{Error::kInternal,
                   "a guard or state of the trace names a value that the trace does not have"};
  return Done{};
}

void Importer::use(TraceValueId id) {
  if (id != kNoTraceValue) ++state_.uses[static_cast<size_t>(id)];
}

void Importer::find_live() {
  state_.uses.assign(trace_.values.size(), 0);
  live_.assign(trace_.nodes.size(), false);
  for (const TraceOutput& out : trace_.outputs) use(out.value);
  for (const TraceGuard& guard : trace_.guards) use(guard.value);
  for (const TraceState& state : trace_.states) use(state.next);
  for (size_t i = trace_.nodes.size(); i-- > 0;) {
    const TraceNode& node = trace_.nodes[i];
    live_[i] = std::any_of(node.outputs.begin(), node.outputs.end(), [this](TraceValueId id) {
      return id != kNoTraceValue && state_.uses[static_cast<size_t>(id)] > 0;
    });
    if (!live_[i]) continue;
    for_each_operand(node, [this](TraceValueId id) { use(id); });
  }
}

Outcome<Done> Importer::add_inputs() {
  for (TraceValueId id : trace_.inputs) {
    if (id < 0 || static_cast<size_t>(id) >= trace_.values.size()) {
      return Failure{Error::kInternal,
                     "an input of the trace names a value that the trace does not have"};
    }
    const TraceValue& v = trace_.values[static_cast<size_t>(id)];
    if (v.dtype == DType::kNone || v.shape.size() > static_cast<size_t>(kMaxRank)) {
      return Failure{Error::kUnsupported,
                     "input '" + v.name + "' has " + std::to_string(v.shape.size()) +
                         " dims and element type " + dtype_name(v.dtype) +
                         "; the runtime takes at most " + std::to_string(kMaxRank) +
                         " dims of real or integer numbers"};
    }
    state_.values[static_cast<size_t>(id)] = graph_.add_input(v.name, v.dtype, Shape(v.shape));
  }
  return Done{};
}

Outcome<Done> Importer::add_states() {
  for (const TraceState& state : trace_.states) {
    const TraceValue& v = trace_.values[static_cast<size_t>(state.leaf)];
    if (v.dtype == DType::kNone || v.shape.size() > static_cast<size_t>(kMaxRank)) {
      return Failure{Error::kUnsupported, "buffer '" + v.name + "', which the model writes, has " +
                                              std::to_string(v.shape.size()) +
                                              " dims and element type " + dtype_name(v.dtype)};
    }
    state_.values[static_cast<size_t>(state.leaf)] =
        graph_.add_state(v.name, v.dtype, Shape(v.shape), v.constant);
  }
  return Done{};
}

void Importer::load_leaf(TraceValueId id) {
  if (id == kNoTraceValue) return;
  const auto i = static_cast<size_t>(id);
  const TraceValue& v = trace_.values[i];
  const bool constant = v.leaf == LeafKind::kParameter || v.leaf == LeafKind::kBuffer ||
                        v.leaf == LeafKind::kConstant;
  if (!constant || state_.values[i] != kNoValue) return;
  if (v.dtype == DType::kNone || v.shape.size() > static_cast<size_t>(kMaxRank)) return;
  const ValueId g = graph_.add_constant(v.name, v.dtype, Shape(v.shape), v.constant);
  state_.values[i] = g;
  state_.is_static.resize(static_cast<size_t>(g) + 1, false);
  state_.is_static[static_cast<size_t>(g)] = true;
}

void Importer::load_leaves(const TraceNode& node) {
  for_each_operand(node, [this](TraceValueId id) { load_leaf(id); });
}

bool Importer::reads_poison(const TraceNode& node) const {
  bool found = false;
  for_each_operand(node,
                   [&](TraceValueId id) { found = found || poisoned_[static_cast<size_t>(id)]; });
  return found;
}

bool Importer::reads_half(const TraceNode& node) const {
  bool found = false;
  for_each_operand(node, [&](TraceValueId id) {
    const DType dtype = trace_.values[static_cast<size_t>(id)].dtype;
    found = found || dtype == DType::kFloat16 || dtype == DType::kBFloat16;
  });
  return found;
}

void Importer::poison(const TraceNode& node) {
  for (TraceValueId id : node.outputs) {
    if (id != kNoTraceValue) poisoned_[static_cast<size_t>(id)] = true;
  }
}

void Importer::add_problem(const TraceNode& node, Error error, const std::string& why) {
  const std::string op = node.full_name();
  auto found = std::find_if(problems_.begin(), problems_.end(),
                            [&](const Problem& p) { return p.op == op && p.why == why; });
  if (found == problems_.end()) {
    problems_.push_back({op, why, error, 0, {}});
    found = problems_.end() - 1;
  }
  ++found->calls;
  std::string source = node.source.text();
  if (source.empty()) source = "(source unknown)";
  const bool known =
      std::find(found->sources.begin(), found->sources.end(), source) != found->sources.end();
  if (!known && found->sources.size() < kMaxSourceLines) found->sources.push_back(source);
}

/// Returns why a live result has no form in our graph, or nothing.
std::optional<std::string> unfit_result(const Trace& trace, const TraceNode& node) {
  for (TraceValueId id : node.outputs) {
    if (id == kNoTraceValue) continue;
    const TraceValue& v = trace.values[static_cast<size_t>(id)];
    if (v.dtype == DType::kNone) {
      return "its result has an element type that the runtime lacks (complex or quantized)";
    }
    if (v.shape.size() > static_cast<size_t>(kMaxRank)) {
      return "its result has " + std::to_string(v.shape.size()) +
             " dims; the runtime has at most " + std::to_string(kMaxRank);
    }
  }
  return std::nullopt;
}

void Importer::import_node(size_t index) {
  const TraceNode& node = trace_.nodes[index];
  const RuleMatch match = find_rule(node);
  const bool refused = match.entry == nullptr || match.entry->rule == nullptr;
  if (refused) {
    const bool named = match.entry != nullptr && match.entry->refusal != nullptr;
    add_problem(node, Error::kUnsupported, named ? match.entry->refusal : "is not supported yet");
    return poison(node);
  }
  if (reads_poison(node)) return poison(node);
  if (const auto unfit = unfit_result(trace_, node)) {
    add_problem(node, Error::kUnsupported, *unfit);
    return poison(node);
  }
  load_leaves(node);
  apply_rule(node, match);
}

/// Returns why the rule did not give all results that are used.
std::optional<Failure> failure_of(const RuleMatch& match, RuleContext context) {
  match.entry->rule(context);
  for (size_t i = 0; i < context.out_count() && context.ok(); ++i) {
    if (context.used(i) && !context.is_set(i)) {
      context.refuse("its result " + std::to_string(i) + " is used, which is not supported");
    }
  }
  if (context.ok()) return std::nullopt;
  return context.failure();
}

/// 16-bit floating types that the kernels do not take are computed in f32, as eager does.
void Importer::apply_rule(const TraceNode& node, const RuleMatch& match) {
  const auto failure = failure_of(match, RuleContext(graph_, state_, node));
  if (!failure) return;
  if (reads_half(node) && !failure_of(match, RuleContext(graph_, state_, node, /*wide=*/true))) {
    return;
  }
  add_problem(node, failure->error, failure->text);
  poison(node);
}

Outcome<Done> Importer::add_outputs() {
  for (const TraceOutput& out : trace_.outputs) {
    GraphOutput g{out.name, kNoValue, out.literal};
    if (!out.literal) {
      auto value = root(out.value, "output '" + out.name + "'");
      if (!value.ok()) return value.failure();
      g.value = *value;
    }
    graph_.outputs().push_back(std::move(g));
  }
  return Done{};
}

Outcome<ValueId> Importer::root(TraceValueId id, const std::string& what) {
  const bool known = id >= 0 && id < static_cast<int>(trace_.values.size());
  if (known) load_leaf(id);
  const ValueId value = known ? state_.values[static_cast<size_t>(id)] : kNoValue;
  if (value == kNoValue)
    return Failure{Error::kInternal, what + " is a value that is never computed"};
  return value;
}

/// For a value that depends on constants alone: whether the guard holds.
std::optional<bool> Importer::static_truth(const GraphGuard& guard) const {
  const auto i = static_cast<size_t>(guard.value);
  if (i >= state_.is_static.size() || !state_.is_static[i]) return std::nullopt;
  const auto elements = static_elements(graph_, guard.value);
  if (!elements || elements->size() != 1) return std::nullopt;
  const DType dtype = graph_.value(guard.value).dtype;
  std::vector<uint8_t> bytes;
  append_element(dtype, elements->front(), bytes);
  return is_seen(dtype, bytes.data(), guard.seen);
}

Outcome<Done> Importer::add_guard(const TraceGuard& guard) {
  const std::string what = "guard \"" + guard.text + "\"";
  auto value = root(guard.value, what);
  if (!value.ok()) return value.failure();
  const Value& v = graph_.value(*value);
  const auto seen = seen_of(v.dtype, guard.seen);
  if (v.shape.numel() != 1 || !seen) {
    return Failure{Error::kInternal, what + " saw " + seen_text(guard.seen) + " of " +
                                         dtype_name(v.dtype) + shape_text(v.shape).text};
  }
  GraphGuard made{*value, *seen, guard.text, guard.source, guard.check};
  const std::optional<bool> known = static_truth(made);
  if (known && !*known) return never_holds(made);
  if (!known) graph_.guards().push_back(std::move(made));
  return Done{};
}

Outcome<Done> Importer::add_guards() {
  for (const TraceGuard& guard : trace_.guards) LAZYRT_TRY(add_guard(guard));
  return Done{};
}

Outcome<Done> Importer::set_next_states() {
  for (size_t k = 0; k < trace_.states.size(); ++k) {
    const std::string& name = graph_.value(graph_.states()[k].value).name;
    auto next = root(trace_.states[k].next, "what buffer '" + name + "' becomes");
    if (!next.ok()) return next.failure();
    graph_.states()[k].next = *next;
  }
  return Done{};
}

/// A call that changes nothing has the value of its first operand as its own.
void Importer::set_origins() {
  for (size_t id = 0; id < state_.values.size(); ++id) {
    if (state_.values[id] == kNoValue) continue;
    Value& value = graph_.value(state_.values[id]);
    if (value.kind == ValueKind::kNode && !value.origin.is_known())
      value.origin.value = static_cast<TraceValueId>(id);
  }
  complete_origins(graph_);
}

Failure Importer::problems_failure() const {
  int64_t calls = 0;
  for (const Problem& p : problems_) calls += p.calls;
  std::string text = std::to_string(calls) + (calls == 1 ? " call" : " calls") +
                     " of this model cannot be exported:\n";
  Error error = Error::kUnsupported;
  for (const Problem& p : problems_) {
    if (p.error != Error::kUnsupported) error = p.error;
    text += "  " + p.op + ": " + p.why + " (" + std::to_string(p.calls) +
            (p.calls == 1 ? " call)\n" : " calls)\n");
    for (const std::string& source : p.sources) text += "      at " + source + "\n";
  }
  text += "Replace these calls in the model by supported operators, or keep that part outside.";
  return Failure{error, text};
}

void Importer::fill_report(ImportReport& report) const {
  std::map<std::string, ImportReport::Op> ops;
  for (size_t i = 0; i < trace_.nodes.size(); ++i) {
    const TraceNode& node = trace_.nodes[i];
    ImportReport::Op& op = ops[node.full_name()];
    ++op.calls;
    if (!live_[i]) {
      ++report.dead_nodes;
      continue;
    }
    const RuleMatch match = find_rule(node);
    if (match.entry != nullptr && match.entry->rule != nullptr) op.rule = match.list;
  }
  for (auto& [name, op] : ops) {
    op.name = name;
    report.ops.push_back(std::move(op));
  }
}

Outcome<Graph> Importer::run(ImportReport* report) {
  LAZYRT_TRY(check_trace());
  state_.trace = &trace_;
  state_.values.assign(trace_.values.size(), kNoValue);
  poisoned_.assign(trace_.values.size(), false);
  find_live();
  if (report != nullptr) fill_report(*report);
  LAZYRT_TRY(add_inputs());
  LAZYRT_TRY(add_states());
  for (size_t i = 0; i < trace_.nodes.size(); ++i) {
    if (live_[i]) import_node(i);
  }
  if (!problems_.empty()) return problems_failure();
  LAZYRT_TRY(add_outputs());
  LAZYRT_TRY(add_guards());
  LAZYRT_TRY(set_next_states());
  set_origins();
  graph_.sample_inputs = trace_.sample_inputs;
  graph_.sample_outputs = trace_.sample_outputs;
  return std::move(graph_);
}

}  // namespace

Outcome<Graph> import_trace(const Trace& trace, const OpTable& ops, ImportReport* report,
                            bool any_size) {
  return Importer(trace, ops, any_size).run(report);
}

}  // namespace lazyrt
