#include "host_tracer/capture/sync_fates.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <limits>

#include "host_tracer/capture/prune_trace.h"
#include "host_tracer/capture/seen_text.h"

namespace lazyrt {
namespace {

constexpr const char* kKeepTensor =
    "keep it a tensor: a 0-dim tensor computes like a number; drop .item(), .tolist(), NumPy";
constexpr const char* kMakeInput =
    "a random number, a clock or a counter? make it an input of the model, or fix it";
constexpr const char* kCompareTensors =
    "compare tensors and ask for the answer, bool(t > 0.5), or use torch.where";

bool is_exact(const SyncRecord& sync) { return !at::isFloatingType(sync.dtype()); }

bool same_tensor(const at::Tensor& a, const at::Tensor& b) {
  return a.scalar_type() == b.scalar_type() && a.sizes() == b.sizes() &&
         at::allclose(a, b, 0.0, 0.0, /*equal_nan=*/true);
}

double as_double(const SeenNumber& number) {
  return std::visit([](auto v) { return static_cast<double>(v); }, number);
}

double number_of(const at::Tensor& one) { return as_double(seen_number(one.reshape({}))); }

at::Tensor leaf_tensor(const CapturedRun& run, TraceValueId leaf) {
  const TraceValue& value = run.trace.values[static_cast<size_t>(leaf)];
  return from_sample({value.dtype, value.shape, value.constant});
}

/// What rounding may do to each element, or to the sums that it comes from.
at::Tensor tolerance(const at::Tensor& given) {
  const at::Tensor size = at::nan_to_num(given.to(at::kDouble), 0.0, 0.0, 0.0).abs();
  const double share = given.element_size() < 4 ? 1e-2 : 1e-5;
  const at::Tensor largest = given.numel() ? size.max() : at::zeros({}, at::kDouble);
  return ((size + largest) * share).to(given.scalar_type());
}

int64_t position_of(const TraceDifference& difference, const CapturedRun& run) {
  if (difference.node < 0) return std::numeric_limits<int64_t>::max();
  return run.positions[static_cast<size_t>(difference.node)];
}

std::string place_text(const SyncRecord& sync) { return sync.text + source_suffix(sync.source); }

std::string given_text(const SyncRecord& sync) { return seen_text(sync.given.front()); }

class Settler {
 public:
  Settler(CapturedRun run, const Evidence& evidence)
      : run_(std::move(run)), trace_(run_.trace), evidence_(evidence) {}

  Trace settle() {
    choose_guards();
    cover_baked_values();
    report_baked_values();
    for (size_t i = 0; i < run_.syncs.size(); ++i) {
      if (run_.syncs[i].active) add_sync(i);
    }
    prune_trace(trace_);
    return std::move(trace_);
  }

 private:
  void choose_guards() {
    for (size_t i = 0; i < run_.syncs.size(); ++i) {
      const SyncRecord& sync = run_.syncs[i];
      if (!sync.active || sync.kind == SyncKind::kOpaque) continue;
      const bool steers = !evidence_.checked || evidence_.steers.count(sync.site()) != 0;
      if (!is_variable(sync) || steers) guarded_.insert(i);
    }
  }

  std::vector<bool> live() const {
    std::vector<TraceValueId> roots = result_roots(trace_);
    for (const size_t i : guarded_) roots.push_back(run_.syncs[i].id);
    return live_values(trace_, roots);
  }

  static bool needs(const Trace& trace, const std::vector<bool>& live, int32_t node) {
    if (node < 0) return true;
    const auto& outputs = trace.nodes[static_cast<size_t>(node)].outputs;
    return std::any_of(outputs.begin(), outputs.end(), [&](TraceValueId id) {
      return id != kNoTraceValue && live[static_cast<size_t>(id)];
    });
  }

  /// Guards on all that a baked value may come from makes it right. Guards need values in
  /// their turn, so until nothing changes.
  void cover_baked_values() {
    baked_.resize(evidence_.baked.size());
    for (bool changed = true; changed;) {
      changed = false;
      const std::vector<bool> needed = live();
      for (size_t i = 0; i < evidence_.baked.size(); ++i) {
        const BakedValue& value = evidence_.baked[i];
        if (baked_[i] != Fate::kDead || !needs(trace_, needed, value.difference.node)) continue;
        baked_[i] = cover(value) ? Fate::kCovered : Fate::kBaked;
        changed = true;
      }
    }
  }

  bool cover(const BakedValue& value) {
    for (const size_t i : value.syncs) {
      if (!is_exact(run_.syncs[i]) && guarded_.count(i) == 0) return false;
    }
    guarded_.insert(value.syncs.begin(), value.syncs.end());
    if (value.of_sites) guard_sites(value);
    return !value.syncs.empty();
  }

  void guard_sites(const BakedValue& value) {
    std::set<std::string> sites;
    for (const size_t i : value.syncs) sites.insert(run_.syncs[i].site());
    for (size_t i = 0; i < run_.syncs.size(); ++i) {
      const SyncRecord& sync = run_.syncs[i];
      if (sync.active && is_variable(sync) && sites.count(sync.site())) guarded_.insert(i);
    }
  }

  void report_baked_values() {
    std::map<std::string, std::pair<size_t, int>> places;  // first one, how many
    for (size_t i = 0; i < baked_.size(); ++i) {
      if (baked_[i] == Fate::kDead) continue;
      if (baked_[i] == Fate::kBaked) {
        baked_syncs_.insert(evidence_.baked[i].syncs.begin(), evidence_.baked[i].syncs.end());
      }
      auto& place = places[place_key(i)];
      if (place.second++ == 0) place.first = i;
    }
    std::vector<std::pair<size_t, int>> ordered;
    for (const auto& [key, place] : places) ordered.push_back(place);
    std::sort(ordered.begin(), ordered.end());
    for (const auto& [i, count] : ordered) report_baked(i, count);
  }

  Source source_of(const TraceDifference& difference) const {
    if (difference.node >= 0) return trace_.nodes[static_cast<size_t>(difference.node)].source;
    return {};
  }

  /// Differences of one line that come from the same lines are reported once.
  std::string place_key(size_t i) const {
    const BakedValue& value = evidence_.baked[i];
    std::set<std::string> sites;
    for (const size_t sync : value.syncs) sites.insert(run_.syncs[sync].site());
    std::string key = baked_[i] == Fate::kCovered ? "covered" : "baked";
    const Source source = source_of(value.difference);
    key += "|" + source.text() + "|" + source.aten;
    if (source.text().empty()) key += std::to_string(value.difference.node);
    for (const std::string& site : sites) key += "|" + site;
    return key;
  }

  std::string holder_text(const TraceDifference& difference) const {
    if (difference.node < 0) return "output " + std::to_string(difference.output);
    const TraceNode& node = trace_.nodes[static_cast<size_t>(difference.node)];
    return node.op + source_suffix(node.source);
  }

  std::string origin_text(const BakedValue& value) const {
    if (value.syncs.empty()) return ", although no number that left the graph was another";
    std::vector<std::string> texts;
    for (const size_t i : value.syncs) {
      const std::string text = place_text(run_.syncs[i]);
      if (std::find(texts.begin(), texts.end(), text) == texts.end()) texts.push_back(text);
    }
    std::string joined = texts.size() == 1 ? ": it comes from " : ": it comes from one of ";
    for (size_t i = 0; i < std::min<size_t>(texts.size(), 4); ++i)
      joined += (i ? ", " : "") + texts[i];
    return joined + (texts.size() > 4 ? ", …" : "");
  }

  void report_baked(size_t i, int count) {
    const BakedValue& value = evidence_.baked[i];
    const bool covered = baked_[i] == Fate::kCovered;
    const TraceDifference& difference = value.difference;
    Finding finding;
    finding.severity = covered ? Severity::kWarning : Severity::kError;
    finding.id = "baked-value";
    finding.source = source_of(difference);
    finding.message = holder_text(difference) + " holds the value " + difference.first_text +
                      ", and " + difference.second_text + " in another run" + origin_text(value);
    if (count > 1) finding.message += " (and " + std::to_string(count - 1) + " more like it)";
    if (covered) finding.message += "; a guard refuses inputs for which it is another";
    finding.suggestion = value.syncs.empty() ? kMakeInput : kKeepTensor;
    trace_.findings.push_back(std::move(finding));
  }

  void add_sync(size_t i) {
    const SyncRecord& record = run_.syncs[i];
    TraceSync sync;
    sync.what = record.what;
    sync.seen = given_text(record);
    sync.source = record.source;
    sync.use = SyncUse::kNote;
    if (record.kind == SyncKind::kOpaque) {
      sync.use = SyncUse::kBaked;
      report_opaque(record);
    } else if (guarded_.count(i)) {
      const bool unproven = is_variable(record) && !is_exact(record);
      sync.use = unproven ? SyncUse::kUnproven : SyncUse::kGuard;
      add_guard(record);
      if (unproven) report_unproven(record);
    } else if (baked_syncs_.count(i)) {
      sync.use = SyncUse::kBaked;
    }
    trace_.syncs.push_back(std::move(sync));
  }

  void report_opaque(const SyncRecord& record) {
    Finding finding;
    finding.severity = Severity::kError;
    finding.id = "baked-value";
    finding.source = record.source;
    finding.message = place_text(record) +
                      " gives a tensor whose size depends on the inputs' values: the sample's "
                      "result (" +
                      given_text(record) + ") is in the graph";
    finding.suggestion =
        "use operations whose results have a fixed size (sort, scatter_add, one_hot)";
    add_once(std::move(finding));
  }

  void report_unproven(const SyncRecord& record) {
    Finding finding;
    finding.severity = Severity::kWarning;
    finding.id = "unproven-sync";
    finding.source = record.source;
    finding.message =
        place_text(record) + " gave the program " + given_text(record) +
        (evidence_.checked ? ", and with another number the program goes another way"
                           : ", and no second trace looked what the program makes of it") +
        "; a guard refuses inputs for which it is another";
    finding.suggestion = kCompareTensors;
    add_once(std::move(finding));
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
                        DType dtype, const std::vector<int64_t>& shape, const Source& source) {
    TraceNode node;
    node.op = op;
    node.overload = overload;
    node.args = std::move(args);
    node.source = source;
    node.source.aten = op;
    TraceValue value;
    value.dtype = dtype;
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

  /// all(value == what was seen); floating ones all(|value - seen| <= tolerance), because the
  /// device's sums round differently.
  TraceValueId equals_given(const SyncRecord& record) {
    const at::Tensor& given = record.given.front();
    const DType dtype = to_dtype(given.scalar_type());
    const std::vector<int64_t> shape = given.sizes().vec();
    const auto binary = [&](const char* op, TraceValueId a, TraceValueId b, DType type) {
      OpArgs args = {{"self", TensorArg{a}}, {"other", TensorArg{b}}};
      if (std::string(op) == "aten::sub") args.emplace_back("alpha", int64_t{1});
      return add_node(op, "Tensor", std::move(args), type, shape, record.source);
    };
    TraceValueId same;
    const TraceValueId seen = add_constant(given);
    if (is_exact(record)) {
      same = binary("aten::eq", record.id, seen, DType::kBool);
    } else {
      const TraceValueId off = binary("aten::sub", record.id, seen, dtype);
      const TraceValueId size =
          add_node("aten::abs", "", {{"self", TensorArg{off}}}, dtype, shape, record.source);
      same = binary("aten::le", size, add_constant(tolerance(given)), DType::kBool);
    }
    return add_node("aten::all", "", {{"self", TensorArg{same}}}, DType::kBool, {}, record.source);
  }

  void add_guard(const SyncRecord& record) {
    TraceGuard guard;
    guard.source = record.source;
    guard.text = record.text;
    if (record.kind == SyncKind::kTensor) {
      guard.value = equals_given(record);
      guard.seen = true;
      guard.text += " == " + values_text(record.given.front());
    } else {
      guard.value = record.id;
      guard.seen = seen_number(record.given.front());
      if (!guards_.insert(record.id).second) return;
    }
    trace_.guards.push_back(std::move(guard));
  }

  enum class Fate : uint8_t { kDead, kCovered, kBaked };

  CapturedRun run_;
  Trace& trace_;
  const Evidence& evidence_;
  std::set<size_t> guarded_;      ///< syncs
  std::set<size_t> baked_syncs_;  ///< syncs
  std::set<TraceValueId> guards_;
  std::vector<Fate> baked_;  ///< of evidence_.baked
};

}  // namespace

bool is_variable(const SyncRecord& sync) {
  return sync.kind == SyncKind::kNumber || sync.kind == SyncKind::kTensor;
}

bool same_given(const SyncRecord& a, const SyncRecord& b) {
  return a.given.size() == b.given.size() && same_tensor(a.given.front(), b.given.front());
}

Origins::Origins(const CapturedRun& first, const CapturedRun& second)
    : first_(first), second_(second) {
  for (size_t i = 0; i < first.syncs.size(); ++i) {
    const SyncRecord &a = first.syncs[i], &b = second.syncs[i];
    if (!a.active || !is_variable(a) || same_given(a, b)) continue;
    const size_t site = sites_.emplace(a.site(), sites_.size()).first->second;
    changes_.push_back({i, site, a.position});
    if (a.kind == SyncKind::kTensor) tensors_.push_back(i);
    if (a.given.front().numel() != 1) continue;
    const double x = number_of(a.given.front()), y = number_of(b.given.front());
    numbers_.emplace(std::make_pair(x, y), i);
    numbers_.emplace(std::make_pair(static_cast<float>(x), static_cast<float>(y)), i);
  }
}

std::optional<size_t> Origins::exact(const TraceDifference& difference, int64_t position) const {
  if (difference.first_number && difference.second_number) {
    const auto found =
        numbers_.find({as_double(*difference.first_number), as_double(*difference.second_number)});
    if (found != numbers_.end() && first_.syncs[found->second].position <= position) {
      return found->second;
    }
  }
  if (difference.first_leaf == kNoTraceValue) return std::nullopt;
  const at::Tensor a = leaf_tensor(first_, difference.first_leaf);
  const at::Tensor b = leaf_tensor(second_, difference.second_leaf);
  for (const size_t i : tensors_) {
    if (same_tensor(first_.syncs[i].given.front(), a) &&
        same_tensor(second_.syncs[i].given.front(), b)) {
      return i;
    }
  }
  return std::nullopt;
}

BakedValue Origins::of(const TraceDifference& difference) const {
  const int64_t position = position_of(difference, first_);
  if (const auto sync = exact(difference, position)) return {difference, {*sync}, false};
  BakedValue value{difference, {}, true};
  std::vector<bool> seen(sites_.size());
  for (const Change& change : changes_) {
    if (change.position > position || seen[change.site]) continue;
    seen[change.site] = true;
    value.syncs.push_back(change.sync);
  }
  return value;
}

Trace settle(CapturedRun run, const Evidence& evidence) {
  return Settler(std::move(run), evidence).settle();
}

}  // namespace lazyrt
