#include "host_tracer/record/constant_calls.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "host_tracer/record/capture.h"
#include "host_tracer/record/trace_eval.h"
#include "host_tracer/trace/operands.h"
#include "host_tracer/trace/prune_trace.h"

namespace lazyrt {
namespace {

/// A result that has so many times the bytes of what it is computed from is worth a note.
constexpr size_t kMuchLarger = 10;

class ConstantCalls {
 public:
  ConstantCalls(Trace* trace, const std::set<std::string>& written,
                const std::function<bool(const TraceNode&)>& is_chosen)
      : trace_(*trace), is_fixed_(trace->values.size()) {
    for (size_t id = 0; id < trace_.values.size(); ++id)
      is_fixed_[id] = is_constant_leaf(trace_.values[id], written);
    for (size_t i = 0; i < trace_.nodes.size(); ++i) {
      const TraceNode& node = trace_.nodes[i];
      bool all = true;
      for_each_operand(node, [&](TraceValueId id) { all = all && is_fixed(id); });
      if (!all) continue;
      for (const TraceValueId id : node.outputs) {
        if (id != kNoTraceValue) is_fixed_[static_cast<size_t>(id)] = true;
      }
      if (is_chosen(node)) chosen_.push_back(i);
    }
  }

  Outcome<Done> run() {
    find_wanted();
    if (wanted_.empty()) return Done{};
    Trace part = fixed_part();
    auto results = evaluate_trace(part, {});
    if (!results.ok()) return results.failure();
    note(part, *results);
    for (size_t i = 0; i < wanted_.size(); ++i) make_constant(wanted_[i], (*results)[i]);
    drop_chosen();
    prune_trace(trace_);
    return Done{};
  }

 private:
  bool is_fixed(TraceValueId id) const { return is_fixed_[static_cast<size_t>(id)]; }
  static bool is_constant_leaf(const TraceValue& value, const std::set<std::string>& written) {
    if (value.leaf == LeafKind::kConstant) return true;
    const bool is_member = value.leaf == LeafKind::kParameter || value.leaf == LeafKind::kBuffer;
    return is_member && written.count(value.name) == 0;
  }

  /// Results of the chosen calls that a bundle needs and can hold.
  void find_wanted() {
    std::vector<TraceValueId> roots = result_roots(trace_);
    for (const TraceGuard& guard : trace_.guards) roots.push_back(guard.value);
    const std::vector<bool> live = live_values(trace_, roots);
    for (const size_t i : chosen_) {
      for (const TraceValueId id : trace_.nodes[i].outputs) {
        if (id == kNoTraceValue || !live[static_cast<size_t>(id)]) continue;
        if (trace_.values[static_cast<size_t>(id)].dtype != DType::kNone) wanted_.push_back(id);
      }
    }
  }

  /// What the wanted results are computed from.
  Trace fixed_part() const {
    Trace part;
    part.values = trace_.values;
    part.nodes = trace_.nodes;
    for (const TraceValueId id : wanted_) {
      TraceOutput out;
      out.value = id;
      part.outputs.push_back(std::move(out));
    }
    prune_trace(part);
    return part;
  }

  void make_constant(TraceValueId id, const at::Tensor& result) {
    TraceValue& value = trace_.values[static_cast<size_t>(id)];
    value.leaf = LeafKind::kConstant;
    value.producer = -1;
    value.constant = to_sample(result).data;
  }

  void drop_chosen() {
    const std::set<TraceValueId> made(wanted_.begin(), wanted_.end());
    for (const size_t i : chosen_) {
      for (TraceValueId& id : trace_.nodes[i].outputs) {
        if (made.count(id) != 0) id = kNoTraceValue;
      }
    }
  }

  const TraceNode& maker_of(TraceValueId id) const {
    return trace_.nodes[static_cast<size_t>(trace_.values[static_cast<size_t>(id)].producer)];
  }

  void note(const Trace& part, const std::vector<at::Tensor>& results) {
    size_t from = 0, made = 0;
    for (const TraceValue& value : part.values) {
      if (value.leaf != LeafKind::kNotLeaf) from += value.constant.bytes;
    }
    for (const at::Tensor& result : results) made += result.nbytes();
    std::set<std::string> names;
    for (const TraceValueId id : wanted_) names.insert(maker_of(id).full_name());
    std::string text = "computed at export, from parameters and constants alone:";
    for (const std::string& name : names) text += " " + name;
    if (from != 0 && made > kMuchLarger * from) {
      text += "; the results have " + std::to_string(made) +
              " bytes, what they are computed from " + std::to_string(from);
    }
    trace_.notes.push_back(std::move(text));
  }

  Trace& trace_;
  std::vector<bool> is_fixed_;  ///< by value
  std::vector<size_t> chosen_;  ///< among those that nothing which varies reaches
  std::vector<TraceValueId> wanted_;
};

}  // namespace

Outcome<Done> compute_constant_calls(Trace* trace, const std::set<std::string>& written,
                                     const std::function<bool(const TraceNode&)>& is_chosen) {
  return ConstantCalls(trace, written, is_chosen).run();
}

}  // namespace lazyrt
