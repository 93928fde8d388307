#include "host_tracer/export/checked_export.h"

#include <algorithm>
#include <iterator>
#include <set>
#include <string>
#include <utility>

#include "host_tracer/aten/rule.h"
#include "host_tracer/check/size_sweep.h"
#include "host_tracer/compile/dynamic_dims.h"
#include "host_tracer/record/constant_calls.h"

namespace lazyrt {
namespace {

constexpr size_t kMostMoreSizes = 16;  ///< at which bundles were wrong, and which are captured
constexpr size_t kMostOthers = 16;     ///< at which another program was captured
constexpr size_t kMostFalse = 24;      ///< false suspicions, after which no more are followed

bool has_rule(const TraceNode& node) {
  const RuleMatch match = find_rule(node);
  return match.entry != nullptr && match.entry->rule != nullptr;
}

class CheckedExporter {
 public:
  CheckedExporter(std::vector<Trace>* traces, const OpTable& ops, const ExportOptions& options,
                  const DifferentialOptions& check)
      : traces_(*traces), ops_(ops), options_(options), check_(check) {
    check_.sizes = options.dynamic.has_value();
    for (const Trace& trace : traces_) {
      for (const TraceState& state : trace.states)
        written_.insert(trace.values[static_cast<size_t>(state.leaf)].name);
    }
    if (!options_.dynamic || !options_.dynamic->capture_at) return;
    options_.dynamic->capture_at = [this, capture = options_.dynamic->capture_at](
                                       const SizePoint& point, bool compared) -> Outcome<Trace> {
      auto trace = capture(point, compared);
      if (trace.ok()) LAZYRT_TRY(compute_constants(&*trace));
      return trace;
    };
  }

  Outcome<CheckedExport> run() {
    for (Trace& trace : traces_) LAZYRT_TRY(compute_constants(&trace));
    for (;;) {
      CheckedExport made;
      LAZYRT_TRY(make(&made));
      if (!is_swept(made.checked)) return made;
      const auto wrong = sweep(&made);
      if (!wrong.ok()) return wrong.failure();
      if (wrong->empty()) {
        const auto is_captured = capture_others(&made);
        if (!is_captured.ok()) return is_captured.failure();
        if (!*is_captured) return made;
        continue;
      }
      if (more_ += wrong->size(); more_ > kMostMoreSizes) return keep_parting(wrong->front());
    }
  }

 private:
  /// Of calls that depend on constants alone: those that have no rule, or all after a rule refused
  /// a call.
  Outcome<Done> compute_constants(Trace* trace) const {
    return compute_constant_calls(trace, written_, [this](const TraceNode& node) {
      return computes_all_ || !has_rule(node);
    });
  }

  Outcome<Done> make(CheckedExport* made) {
    auto exported = export_traces(traces_, ops_, options_);
    if (!exported.ok() && exported.failure().error == Error::kUnsupported && !computes_all_) {
      computes_all_ = true;
      for (Trace& trace : traces_) LAZYRT_TRY(compute_constants(&trace));
      exported = export_traces(traces_, ops_, options_);
    }
    if (!exported.ok()) return exported.failure();
    made->exported = std::move(*exported);
    take_more_traces(&made->exported, &traces_);
    auto bundle = LoadedBundle::open(options_.path);
    if (!bundle.ok()) {
      return Failure{Error::kInternal, "the bundle made is refused: " + bundle.failure().text};
    }
    made->bundle = std::move(*bundle);
    auto checked = check_bundle(*made->bundle, traces_, check_);
    if (!checked.ok()) return checked.failure();
    made->checked = std::move(*checked);
    return Done{};
  }

  bool is_swept(const CheckReport& checked) const {
    return options_.dynamic && options_.dynamic->capture_at && traces_[0].eager &&
           checked.level == CheckLevel::kFull && checked.difference.empty();
  }

  /// Returns the points at which the bundle is wrong; they are among the traces now.
  Outcome<std::vector<SizePoint>> sweep(CheckedExport* made) {
    std::vector<SizePoint> tried = compared_points();
    alike_.clear();
    CheckReport& report = made->checked;
    for (size_t suspected = 0; suspected < kMostFalse;) {
      auto found =
          sweep_sizes(*made->bundle, traces_[0], *options_.dynamic, tried, sweep_options());
      if (!found.ok()) return found.failure();
      report.sizes += found->alike.size();
      alike_.insert(alike_.end(), found->alike.begin(), found->alike.end());
      if (found->parting.empty()) break;
      const auto is_wrong = confirm(*made->bundle, found->parting);
      if (!is_wrong.ok()) return is_wrong.failure();
      if (*is_wrong) return found->parting;
      suspected += found->parting.size();
      for (const auto* points : {&found->alike, &found->parting})
        tried.insert(tried.end(), points->begin(), points->end());
    }
    return std::vector<SizePoint>();
  }

  SizeSweepOptions sweep_options() const {
    SizeSweepOptions options;
    options.calls = check_.size_calls;
    options.seed = check_.seed;
    if (!check_.progress) return options;
    options.progress = [this](size_t done, size_t total) {
      check_.progress("check at other sizes", static_cast<int64_t>(done),
                      static_cast<int64_t>(total));
    };
    return options;
  }

  std::vector<SizePoint> compared_points() const {
    std::vector<SizePoint> points;
    for (const Trace& trace : traces_) {
      if (trace.eager) points.push_back(point_of(options_.dynamic->shapes, trace));
    }
    return points;
  }

  /// Captures the program at these points and compares the bundle there as elsewhere.
  Outcome<bool> confirm(const LoadedBundle& bundle, const std::vector<SizePoint>& points) {
    std::vector<Trace> some = {traces_[0]};
    for (const SizePoint& point : points) {
      auto trace = options_.dynamic->capture_at(point, true);
      if (!trace.ok()) return trace.failure();
      trace->suspected = true;
      some.push_back(std::move(*trace));
    }
    DifferentialOptions options = check_;
    options.rows_of_sizes = true;
    auto checked = check_bundle(bundle, some, options);
    if (!checked.ok()) return checked.failure();
    std::move(some.begin() + 1, some.end(), std::back_inserter(traces_));
    return !checked->difference.empty();
  }

  /// Captures the program at some sizes at which it gave the bundle's results: if it differs there,
  /// inputs that were not tried may show it. Returns whether it does, at a point that is among the
  /// traces now.
  Outcome<bool> capture_others(CheckedExport* made) {
    const size_t count = std::min(alike_.size(), check_.size_captures);
    for (size_t i = 0; i < count; ++i) {
      if (check_.progress)
        check_.progress("capture at other sizes", static_cast<int64_t>(i),
                        static_cast<int64_t>(count));
      const auto trace = options_.dynamic->capture_at(alike_[i], false);
      if (!trace.ok()) return trace.failure();
      const auto is_other = made->exported.is_other_at(alike_[i], *trace);
      if (!is_other.ok()) return is_other.failure();
      ++made->checked.sizes_captured;
      if (!*is_other) continue;
      if (++others_ > kMostOthers) return keep_parting(alike_[i]);
      LAZYRT_TRY(add_suspected(alike_[i]));
      return true;
    }
    return false;
  }

  Outcome<Done> add_suspected(const SizePoint& point) {
    auto trace = options_.dynamic->capture_at(point, true);
    if (!trace.ok()) return trace.failure();
    trace->suspected = true;
    traces_.push_back(std::move(*trace));
    return Done{};
  }

  Failure keep_parting(const SizePoint& point) const {
    return {Error::kUnsupported,
            "at " + options_.dynamic->shapes.text(point) + " and " +
                std::to_string(std::max(more_, others_) - 1) +
                " more sizes the program computes something else than the bundle, which was made "
                "from its calls at other sizes, and these sizes form no ranges: decide by tensor "
                "arithmetic (torch.where), give a smaller range, or export a bundle for each size"};
  }

  std::vector<Trace>& traces_;
  const OpTable& ops_;
  ExportOptions options_;
  DifferentialOptions check_;
  std::set<std::string> written_;  ///< states of the traces
  bool computes_all_ = false;
  size_t more_ = 0;
  std::vector<SizePoint> alike_;  ///< where the last sweep found no difference
  size_t others_ = 0;
};

}  // namespace

Outcome<CheckedExport> export_checked(std::vector<Trace>* traces, const OpTable& ops,
                                      const ExportOptions& options,
                                      const DifferentialOptions& check) {
  return CheckedExporter(traces, ops, options, check).run();
}

}  // namespace lazyrt
