#include "host_tracer/record/sync_fates.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <map>
#include <set>

#include "host_tracer/record/seen_text.h"
#include "host_tracer/trace/prune_trace.h"

namespace lazyrt {
namespace {

constexpr const char* kKeepTensor =
    "keep it a tensor, which computes like a number: drop .item(), float(), .tolist(), NumPy; to "
    "decide by it, compare the tensor, bool(t > 0.5), or use torch.where";
constexpr const char* kMakeInput =
    "a random number, a clock or a counter? make it an input of the model, or fix it";
constexpr const char* kFixedSize =
    "use operations whose results have a fixed size (sort, scatter_add, one_hot)";

std::string place_text(const SyncRecord& sync) { return sync.text + source_suffix(sync.source); }

std::string given_text(const SyncRecord& sync) { return values_text(sync.given.front()); }

Finding baked_value(const Source& source, std::string message, const char* suggestion) {
  Finding finding;
  finding.severity = Severity::kError;
  finding.id = "baked-value";
  finding.source = source;
  finding.message = std::move(message);
  finding.suggestion = suggestion;
  return finding;
}

class Settler {
 public:
  explicit Settler(CapturedRun run) : run_(std::move(run)), trace_(run_.trace) {}

  Trace settle(const std::vector<TraceDifference>& differences) {
    for (const SyncRecord& sync : run_.syncs) {
      if (sync.active) add_sync(sync);
    }
    const std::vector<bool> needed = live_values(trace_, all_roots());
    report_differences(differences, needed);
    drop_idle_draws(needed);
    prune_trace(trace_);
    return std::move(trace_);
  }

 private:
  std::vector<TraceValueId> all_roots() const {
    std::vector<TraceValueId> roots = result_roots(trace_);
    for (const TraceGuard& guard : trace_.guards) roots.push_back(guard.value);
    return roots;
  }

  // ------------------------------------------------------------ values that left

  void add_sync(const SyncRecord& record) {
    TraceSync sync;
    sync.what = record.what;
    sync.seen = seen_text(record.given.front());
    sync.source = record.source;
    sync.use = use_of(record);
    if (sync.use == SyncUse::kBaked) report_baked(record);
    if (sync.use == SyncUse::kGuard || sync.use == SyncUse::kCheck) add_guard(record);
    trace_.syncs.push_back(std::move(sync));
  }

  static SyncUse use_of(const SyncRecord& record) {
    if (record.kind == SyncKind::kPeek) return SyncUse::kNote;
    if (record.kind == SyncKind::kOpaque || at::isFloatingType(record.dtype())) {
      return SyncUse::kBaked;
    }
    return record.check ? SyncUse::kCheck : SyncUse::kGuard;
  }

  void report_baked(const SyncRecord& record) {
    const bool opaque = record.kind == SyncKind::kOpaque;
    std::string message = place_text(record);
    if (opaque) {
      message += " gives a tensor whose size depends on the inputs' values: the sample's result (" +
                 seen_text(record.given.front()) + ") is in the graph";
    } else {
      message += " gave the program " + given_text(record) +
                 ", and the bundle would use this value for all inputs: for a floating-point "
                 "number no guard can tell which other values would do";
    }
    add_once(baked_value(record.source, std::move(message), opaque ? kFixedSize : kKeepTensor));
  }

  /// The steps of a loop are one finding.
  void add_once(Finding finding) {
    for (const Finding& known : trace_.findings) {
      if (known.id == finding.id && !finding.source.text().empty() &&
          known.source.text() == finding.source.text() && known.suggestion == finding.suggestion) {
        return;
      }
    }
    trace_.findings.push_back(std::move(finding));
  }

  TraceValueId add_value(TraceValue value) {
    trace_.values.push_back(std::move(value));
    return static_cast<TraceValueId>(trace_.values.size() - 1);
  }

  TraceValueId add_node(const std::string& op, const std::string& overload, OpArgs args,
                        const std::vector<int64_t>& shape, const Source& source) {
    TraceNode node;
    node.op = op;
    node.overload = overload;
    node.args = std::move(args);
    node.source = source;
    node.source.aten = op;
    TraceValue value;
    value.dtype = DType::kBool;
    value.shape = shape;
    value.producer = static_cast<int32_t>(trace_.nodes.size());
    node.outputs = {add_value(std::move(value))};
    trace_.nodes.push_back(std::move(node));
    return trace_.nodes.back().outputs[0];
  }

  TraceValueId add_constant(const at::Tensor& data) {
    const SampleTensor sample = to_sample(data);
    TraceValue constant;
    constant.dtype = sample.dtype;
    constant.shape = sample.shape;
    constant.leaf = LeafKind::kConstant;
    constant.constant = sample.data;
    return add_value(std::move(constant));
  }

  /// all(value == what was seen)
  TraceValueId equals_given(const SyncRecord& record) {
    const at::Tensor& given = record.given.front();
    const TraceValueId same =
        add_node("aten::eq", "Tensor",
                 {{"self", TensorArg{record.id}}, {"other", TensorArg{add_constant(given)}}},
                 given.sizes().vec(), record.source);
    return add_node("aten::all", "", {{"self", TensorArg{same}}}, {}, record.source);
  }

  void add_guard(const SyncRecord& record) {
    TraceGuard guard;
    guard.source = record.source;
    guard.text = record.text;
    guard.check = record.check;
    if (record.kind == SyncKind::kTensor) {
      guard.value = equals_given(record);
      guard.seen = true;
      guard.text += " == " + given_text(record);
    } else {
      guard.value = record.id;
      guard.seen = seen_number(record.given.front());
      const auto [known, is_new] = guards_.emplace(record.id, trace_.guards.size());
      if (!is_new) return merge(trace_.guards[known->second], guard);
    }
    trace_.guards.push_back(std::move(guard));
  }

  /// A value that is checked here and decides the path there is a guard.
  static void merge(TraceGuard& known, const TraceGuard& guard) {
    if (known.check && !guard.check) known = guard;
  }

  // ------------------------------------------------------------ values that left unseen

  void report_differences(const std::vector<TraceDifference>& differences,
                          const std::vector<bool>& needed) {
    std::map<std::string, std::pair<const TraceDifference*, int>> places;  // first one, how many
    std::vector<std::string> order;
    for (const TraceDifference& difference : differences) {
      if (!is_needed(difference, needed)) continue;
      const std::string key = place_key(difference);
      auto& place = places[key];
      if (place.second++ > 0) continue;
      place.first = &difference;
      order.push_back(key);
    }
    for (const std::string& key : order) report_difference(*places[key].first, places[key].second);
  }

  bool is_needed(const TraceDifference& difference, const std::vector<bool>& needed) const {
    if (difference.node < 0) return true;
    const auto& outputs = trace_.nodes[static_cast<size_t>(difference.node)].outputs;
    return std::any_of(outputs.begin(), outputs.end(), [&](TraceValueId id) {
      return id != kNoTraceValue && needed[static_cast<size_t>(id)];
    });
  }

  Source source_of(const TraceDifference& difference) const {
    if (difference.node >= 0) return trace_.nodes[static_cast<size_t>(difference.node)].source;
    return {};
  }

  /// Differences of one line are reported once.
  std::string place_key(const TraceDifference& difference) const {
    const Source source = source_of(difference);
    const std::string where = source.text();
    return where.empty() ? std::to_string(difference.node) : where + "|" + source.aten;
  }

  std::string holder_text(const TraceDifference& difference) const {
    if (difference.node < 0) return "output " + std::to_string(difference.output);
    const TraceNode& node = trace_.nodes[static_cast<size_t>(difference.node)];
    return node.op + source_suffix(node.source);
  }

  void report_difference(const TraceDifference& difference, int count) {
    std::string message =
        holder_text(difference) + " holds the value " + difference.first_text + ", and " +
        difference.second_text +
        " in another run, although every number that was read on the host was the same";
    if (count > 1) message += " (and " + std::to_string(count - 1) + " more like it)";
    trace_.findings.push_back(baked_value(source_of(difference), std::move(message), kMakeInput));
  }

  // ------------------------------------------------------------ random numbers

  /// Drops findings about drawn numbers that do not reach any result.
  void drop_idle_draws(const std::vector<bool>& needed) {
    const auto is_idle = [&](const Finding& finding) {
      const auto draws = run_.draws.find(finding.message);
      return draws != run_.draws.end() &&
             std::none_of(draws->second.begin(), draws->second.end(),
                          [&](TraceValueId id) { return needed[static_cast<size_t>(id)]; });
    };
    auto& findings = trace_.findings;
    findings.erase(std::remove_if(findings.begin(), findings.end(), is_idle), findings.end());
  }

  CapturedRun run_;
  Trace& trace_;
  std::map<TraceValueId, size_t> guards_;  ///< by value: the place among the guards
};

}  // namespace

Trace settle(CapturedRun run, const std::vector<TraceDifference>& differences) {
  return Settler(std::move(run)).settle(differences);
}

}  // namespace lazyrt
