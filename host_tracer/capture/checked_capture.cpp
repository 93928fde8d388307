#include "host_tracer/capture/checked_capture.h"

#include <ATen/ATen.h>
#include <ATen/CPUGeneratorImpl.h>

#include <algorithm>

#include "host_tracer/capture/allow.h"
#include "host_tracer/capture/capture_run.h"
#include "host_tracer/capture/compare_traces.h"
#include "host_tracer/capture/lazy_backend.h"
#include "host_tracer/capture/perturb.h"
#include "host_tracer/capture/sync_fates.h"

namespace lazyrt {
namespace {

/// Puts the CPU's random numbers back at the end of its life.
class RandomState {
 public:
  RandomState() {
    const std::lock_guard<std::mutex> lock(generator_.mutex());
    state_ = generator_.get_state();
  }
  ~RandomState() {
    const std::lock_guard<std::mutex> lock(generator_.mutex());
    generator_.set_state(state_);
  }
  RandomState(const RandomState&) = delete;
  RandomState& operator=(const RandomState&) = delete;

 private:
  at::Generator generator_ = at::detail::getDefaultCPUGenerator();
  at::Tensor state_;
};

/// A later run: on the same path as the first, or where it left it.
struct LaterRun {
  std::optional<CapturedRun> run;
  TraceComparison comparison;  ///< with `run`
  int64_t parted_at = 0;       ///< without: calls that both made
  size_t syncs = 0;            ///< without: syncs that both made
  std::string error;           ///< without: what the program threw, if it was that
};

class Checker {
 public:
  Checker(const CaptureRequest& request, const CaptureProgram& program, const CheckOptions& options)
      : request_(request), program_(program), options_(options) {}

  Outcome<Trace> run() {
    ProgramRun result = run_program(request_, program_, nullptr);
    if (!result.run) return Failure{Error::kUnsupported, result.error};
    first_ = std::move(*result.run);
    if (options_.second_trace) {
      evidence_.checked = true;
      perturb();
      alter();
      if (failure_) return *failure_;
    }
    Trace trace = settle(std::move(first_), evidence_);
    for (Finding& finding : findings_) trace.findings.push_back(std::move(finding));
    LAZYRT_TRY(allow_findings(trace, options_.allow));
    return trace;
  }

 private:
  /// A variable sync may change what the program does: it is altered, or computed anew.
  bool is_open(const SyncRecord& sync) const {
    return sync.active && is_variable(sync) && evidence_.steers.count(sync.site()) == 0;
  }

  RunScript script(Answer open, int level) const {
    RunScript script;
    script.syncs = &first_.syncs;
    script.calls = &first_.calls;
    script.level = level;
    for (const SyncRecord& sync : first_.syncs) {
      script.answers.push_back(is_open(sync) ? open : Answer::kReplay);
    }
    return script;
  }

  LaterRun run_later(const CaptureRequest& request, const RunScript& script) {
    ProgramRun result = run_program(request, program_, &script);
    LaterRun later;
    if (result.ours) {
      failure_ = Failure{Error::kUnsupported, result.error};
      return later;
    }
    later.run = std::move(result.run);
    later.parted_at = result.position;
    later.syncs = result.syncs;
    later.error = result.parted ? "" : result.error;
    if (!later.run) return later;
    later.comparison = compare_traces(first_.trace, later.run->trace, first_.random);
    if (later.comparison.same_path) return later;
    const int32_t node = later.comparison.parted_node;
    if (node >= 0 && static_cast<size_t>(node) < first_.positions.size()) {
      later.parted_at = first_.positions[static_cast<size_t>(node)];
    }
    later.run.reset();
    return later;
  }

  /// The last open sync that both runs made before they parted steers the program, as far as one
  /// can see. False: there was none.
  bool blame(const LaterRun& later) {
    for (size_t i = std::min(later.syncs, first_.syncs.size()); i-- > 0;) {
      const SyncRecord& sync = first_.syncs[i];
      if (sync.position > later.parted_at || !is_open(sync)) continue;
      evidence_.steers.insert(sync.site());
      return true;
    }
    return false;
  }

  bool has_open_sync_before(const LaterRun& later) const {
    for (size_t i = 0; i < std::min(later.syncs, first_.syncs.size()); ++i) {
      if (first_.syncs[i].position <= later.parted_at && is_open(first_.syncs[i])) return true;
    }
    return false;
  }

  CaptureRequest perturbed_request(int level) const {
    CaptureRequest request = request_;
    uint64_t seed = options_.seed;
    for (NamedTensor& input : request.inputs) input.tensor = perturbed(input.tensor, level, seed++);
    return request;
  }

  /// Other inputs. Where the path parts they come nearer to the sample; at last a sync is replayed.
  void perturb() {
    int level = 0;
    while (!failure_) {
      const CaptureRequest request = perturbed_request(level);
      const LaterRun later = run_later(request, script(Answer::kCompute, 0));
      if (failure_) return;
      if (later.run) return collect(later);
      if (!has_open_sync_before(later)) return report_unstable(later);
      if (level + 1 < options_.attempts) {
        ++level;
      } else {
        blame(later);
      }
    }
  }

  /// The sample's inputs, but other numbers at the syncs: who only prints them does not care.
  void alter() {
    for (int level = 0; level < kAlterLevels && !unstable_; ++level) {
      while (!failure_ && has_open()) {
        const LaterRun later = run_later(request_, script(Answer::kAlter, level));
        if (failure_) return;
        if (later.run) {
          collect(later);
          break;
        }
        if (!blame(later)) return report_unstable(later);
      }
    }
  }

  bool has_open() const {
    return std::any_of(first_.syncs.begin(), first_.syncs.end(),
                       [this](const SyncRecord& sync) { return is_open(sync); });
  }

  using Key = std::tuple<int32_t, TraceValueId, std::string>;
  static Key key_of(const TraceDifference& difference) {
    return {difference.node, difference.node < 0 ? difference.output : difference.first_leaf,
            difference.argument};
  }

  /// What differs although every sync gave the same: nothing of it comes from a sync.
  const std::set<Key>& restless() {
    if (restless_) return *restless_;
    restless_.emplace();
    const LaterRun again = run_later(request_, script(Answer::kReplay, 0));
    if (again.run) {
      for (const auto& difference : again.comparison.differences) {
        restless_->insert(key_of(difference));
      }
    }
    return *restless_;
  }

  void collect(const LaterRun& later) {
    if (later.comparison.differences.empty()) return;
    const Origins origins(first_, *later.run);
    for (const TraceDifference& difference : later.comparison.differences) {
      const Key key = key_of(difference);
      if (known_.count(key)) continue;
      BakedValue value{difference, {}, false};
      if (has_open() && restless().count(key) == 0) value = origins.of(difference);
      if (failure_) return;
      known_.insert(key);
      evidence_.baked.push_back(std::move(value));
    }
  }

  void report_unstable(const LaterRun& later) {
    unstable_ = true;
    Finding finding;
    finding.severity = Severity::kError;
    finding.id = "unstable-program";
    finding.message =
        "a second run of the program goes another way although every value that it "
        "got from the graph was the same";
    for (size_t i = 0; i < first_.positions.size(); ++i) {
      if (first_.positions[i] < later.parted_at) continue;
      finding.source = first_.trace.nodes[i].source;
      finding.message += ": it parts at " + finding.source.aten + source_suffix(finding.source);
      break;
    }
    if (!later.error.empty()) finding.message += " (" + later.error + ")";
    finding.suggestion =
        "a random choice, a clock, or state outside of buffers? fix it, or make it an input";
    findings_.push_back(std::move(finding));
  }

  const CaptureRequest& request_;
  const CaptureProgram& program_;
  const CheckOptions& options_;
  CapturedRun first_;
  Evidence evidence_;
  std::optional<Failure> failure_;
  std::optional<std::set<Key>> restless_;
  std::set<Key> known_;
  std::vector<Finding> findings_;
  bool unstable_ = false;
};

}  // namespace

Outcome<Trace> capture_checked(const CaptureRequest& request, const CaptureProgram& program,
                               const CheckOptions& options) {
  if (CaptureSession::current()) {
    return Failure{Error::kUnsupported, "a capture cannot be started inside another"};
  }
  if (auto known = parse_allowances(options.allow); !known.ok()) return known.failure();
  const CaptureTurn turn;
  const RandomState random_state;
  if (std::string error = install_lazy_backend(); !error.empty()) {
    return Failure{Error::kUnsupported, error};
  }
  return Checker(request, program, options).run();
}

}  // namespace lazyrt
