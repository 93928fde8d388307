#include "host_tracer/compile/sized_export.h"

#include <algorithm>
#include <deque>
#include <map>
#include <set>

#include "host_tracer/compile/dynamic_dims.h"
#include "host_tracer/compile/size_comparison.h"
#include "host_tracer/compile/sized_traces.h"
#include "host_tracer/dynamic/alike.h"
#include "host_tracer/dynamic/graph_paths.h"
#include "host_tracer/dynamic/optional_nodes.h"
#include "host_tracer/dynamic/ranges.h"
#include "host_tracer/trace/eager_reference.h"

namespace lazyrt {
namespace {

/// Sizes that become one program.
struct SizeSet {
  DynamicShapes shapes;
  SizePoint sample;
  std::vector<SizePoint> points;  ///< fit_points
};

/// The program's traces at its sizes, each captured once.
class Captures {
 public:
  /// REQUIRES: `given`, as for make_sized, outlives this.
  Captures(const DynamicExport& sizes, const std::vector<Trace>& given) : sizes_(sizes) {
    for (const Trace& trace : given) {
      const SizePoint point = point_of(sizes.shapes, trace);
      known_.emplace(point, &trace);
      if (trace.eager) compared_.insert(point);
    }
  }

  size_t count() const { return known_.size(); }
  /// Whether more captures than the given ones can be made.
  bool are_open() const { return sizes_.capture_at != nullptr; }
  std::vector<SizePoint> points() const {
    std::vector<SizePoint> list;
    for (const auto& [point, trace] : known_) list.push_back(point);
    return list;
  }
  Outcome<const Trace*> at(const SizePoint& point) {
    const auto known = known_.find(point);
    return known != known_.end() ? known->second : make(point, false);
  }
  /// Returns a capture that the check can compare with the bundle.
  Outcome<const Trace*> compared_at(const SizePoint& point) {
    const auto known = known_.find(point);
    return known != known_.end() && known->second->eager ? known->second : make(point, true);
  }
  /// Returns the captures that the check can compare and that were not given.
  std::vector<Trace> compared() const {
    std::vector<Trace> list;
    for (const auto& [point, trace] : known_) {
      if (trace->eager && compared_.count(point) == 0) list.push_back(*trace);
    }
    return list;
  }
  /// Gives all traces the states that any of these has; later captures get them too, and may have
  /// no others.
  Outcome<Done> share_states(const std::vector<const Trace*>& traces) {
    std::vector<Trace> shared;
    for (const Trace* trace : traces) shared.push_back(*trace);
    LAZYRT_TRY(lazyrt::share_states(shared));
    with_states_ = std::move(shared[0]);
    for (auto& [point, trace] : known_) {
      auto completed = with_all_states(*trace);
      if (!completed.ok()) return completed.failure();
      made_.push_back(std::move(*completed));
      trace = &made_.back();
    }
    return Done{};
  }

 private:
  Outcome<const Trace*> make(const SizePoint& point, bool compared) {
    auto trace = sizes_.capture_at(point, compared);
    if (!trace.ok()) return trace.failure();
    if (!known_.empty()) share_constants(*known_.begin()->second, &*trace);
    auto completed = with_all_states(std::move(*trace));
    if (!completed.ok()) return completed.failure();
    made_.push_back(std::move(*completed));
    return known_[point] = &made_.back();
  }

  Outcome<Trace> with_all_states(Trace trace) const {
    if (!with_states_) return trace;
    std::vector<Trace> both = {*with_states_, std::move(trace)};
    LAZYRT_TRY(lazyrt::share_states(both));
    return std::move(both[1]);
  }

  const DynamicExport& sizes_;
  std::map<SizePoint, const Trace*> known_;
  std::set<SizePoint> compared_;  ///< of those given
  std::deque<Trace> made_;
  std::optional<Trace> with_states_;
};

ExportOptions for_all_sizes(ExportOptions options) {
  options.pipeline = at_sizes(options.pipeline);
  return options;
}

/// The program's graphs at several sizes, the largest last.
class SizedGraphs {
 public:
  /// `options`: for the graphs that it captures itself.
  SizedGraphs(const SizeSet& sizes, Captures* captures, const OpTable& ops,
              const ExportOptions& options)
      : sizes_(sizes),
        captures_(captures),
        ops_(ops),
        options_(options),
        passes_(options.pipeline) {}

  Outcome<Done> add(const SizePoint& point, const Trace& trace, const ExportOptions& options,
                    ExportReport* report) {
    auto graph = import_stage(trace, ops_, options, report);
    if (!graph.ok()) return graph.failure();
    if (points_.empty()) calls_ = calls_of(trace);
    const bool has_largest = !points_.empty() && points_.back() == sizes_.points.back();
    const auto at = static_cast<ptrdiff_t>(points_.size() - (has_largest ? 1 : 0));
    if (!graphs_.empty()) {
      // All graphs go through the passes again only if something has to be added to the others,
      // too.
      std::vector<Graph> both = {imported_.front(), *graph};
      if (add_optional_nodes(&both) && structure_of(both[0]) == structure_of(imported_.front()))
        *graph = std::move(both[1]);
      auto changed = passes_.run_one(*graph);
      if (!changed.ok()) return changed.failure();
      if (*changed) graphs_.insert(graphs_.begin() + at, std::move(**changed));
      if (!*changed) graphs_.clear();
    }
    imported_.insert(imported_.begin() + at, std::move(*graph));
    points_.insert(points_.begin() + at, point);
    return Done{};
  }

  /// Takes all graphs through the passes. Only the steps of the first are reported.
  Outcome<Done> run_passes(const ExportOptions& options, ExportReport* report) {
    const TimedStage stage(options, report, "passes");
    add_optional_nodes(&imported_);
    auto graphs = passes_.run(imported_, pass_hooks(options), &report->passes);
    if (!graphs.ok()) return graphs.failure();
    graphs_ = std::move(*graphs);
    return Done{};
  }

  /// Captures drawn sizes until the export has made 12 captures: the numbers found have to hold
  /// there, too.
  Outcome<Done> add_drawn() {
    constexpr size_t kMostCaptures = 12;
    for (const SizePoint& point : more_points(sizes_.shapes.symbols, kMostCaptures, 1)) {
      if (captures_->count() >= kMostCaptures) break;
      if (!contains(points_, point)) LAZYRT_TRY(capture(point));
    }
    return Done{};
  }

  /// Captures more sizes, 40 at most, until each number can be only one function of them.
  Outcome<DynamicGraph> unify() {
    constexpr int kMostMore = 40;
    for (int more = 0;; ++more) {
      UnifyHints hints;
      auto dynamic = unify_graphs(graphs_, sizes_.shapes, points_, &hints);
      place_ = hints.place;
      const auto& wanted = hints.wanted;
      if (dynamic.ok() || !wanted || !captures_->are_open() || more == kMostMore) return dynamic;
      if (contains(points_, *wanted)) return dynamic;
      if (const auto added = capture(*wanted); !added.ok()) return added.failure();
    }
  }
  const std::vector<SizePoint>& points() const { return points_; }
  /// The program that unify() made of them, to be compared with more captures.
  SizedProgram program(const DynamicGraph& dynamic) const {
    return {dynamic, passes_, imported_.front(), calls_};
  }
  /// Where the last unify() failed.
  const Source& place() const { return place_; }

 private:
  Outcome<Done> capture(const SizePoint& point) {
    auto trace = captures_->at(point);
    if (!trace.ok()) return trace.failure();
    ExportReport of_this;
    LAZYRT_TRY(add(point, **trace, options_, &of_this));
    if (!graphs_.empty()) return Done{};
    return run_passes(options_, &of_this);  // not as the others so far
  }

  const SizeSet& sizes_;
  Captures* const captures_;
  const OpTable& ops_;
  const ExportOptions& options_;
  AlikePasses passes_;
  std::vector<std::string> calls_;  ///< of the first
  std::vector<Graph> imported_;
  std::vector<Graph> graphs_;  ///< after the passes; empty if these have to run again
  std::vector<SizePoint> points_;
  Source place_;
};

/// Bytes of an arena for any sizes, found at the corners of the symbols' bounds (all corners of the
/// first eight symbols) and at some drawn sizes; sizes that the shape rules refuse are left out.
uint64_t find_reserve(const DynamicGraph& dynamic, const MemoryPlan& model,
                      const MemoryPlan& here) {
  const std::vector<DimSymbol>& symbols = dynamic.shapes().symbols;
  constexpr size_t kMostAtCorners = 8, kMorePoints = 8;
  std::vector<SizePoint> points = more_points(symbols, kMorePoints, /*seed=*/1);
  const size_t corners = size_t{1} << std::min(symbols.size(), kMostAtCorners);
  for (size_t corner = 0; corner < corners; ++corner) {
    SizePoint point;
    for (size_t i = 0; i < symbols.size(); ++i)
      point.push_back(i < kMostAtCorners && (corner >> i & 1) != 0 ? symbols[i].min
                                                                   : symbols[i].max);
    points.push_back(point);
  }
  std::vector<MemoryPlan> plans = {here};
  for (const SizePoint& point : points) {
    auto graph = dynamic.at(point);
    if (graph.ok()) plans.push_back(plan_memory(*graph, &model));
  }
  return reserved_arena(plans);
}

/// Makes programs of sizes.
class SizedPrograms {
 public:
  SizedPrograms(const std::vector<Trace>& given, const OpTable& ops, const ExportOptions& options)
      : given_(given),
        ops_(ops),
        options_(for_all_sizes(options)),
        others_(options_),
        plain_(options),
        captures_(*options.dynamic, given) {
    others_.progress = plain_.progress = nullptr;
    others_.after_pass = plain_.after_pass = nullptr;
  }

  Outcome<SizedExport> make(ExportReport* report) {
    const DynamicExport& sizes = *options_.dynamic;
    const SizeSet all = {sizes.shapes, sizes.sample, sizes.points};
    SizedExport made;
    auto whole = make_one(all, given_[0], options_, report);
    bool differs = !whole.ok() && differs_at_sizes(whole.failure());
    if (whole.ok() && captures_.are_open()) {
      const auto found = takes_other_paths(*whole->sized);
      if (!found.ok()) return found.failure();
      differs = *found;
    }
    if (differs && captures_.are_open()) {
      auto parts = whole.ok() ? make_parts(Failure{}, whole->sized.get(), report)
                              : make_parts(whole.failure(), nullptr, report);
      if (parts.ok()) return parts;
      if (!whole.ok()) return explained(parts.failure());
    }
    if (!whole.ok()) return explained(whole.failure());
    if (is_sure_) return explained(doubt());
    if (!differing_.empty()) made.doubt = explained(doubt()).text;
    // One of all sizes: what it may do otherwise where the program seems to be another one is seen
    // in the check.
    for (const SizePoint& point : differing_) LAZYRT_TRY(captures_.compared_at(point));
    made.more_traces = captures_.compared();
    made.variants.push_back(std::move(*whole));
    return made;
  }

 private:
  /// What is uncertain about the program of all sizes.
  Failure doubt() const {
    return other_at(differing_.front(), options_.dynamic->shapes, place_of_doubt_);
  }

  /// The failure that the program at a point differs from that at the sizes that were made one.
  Failure other_at(const SizePoint& point, const DynamicShapes& shapes, const Source& at) const {
    const std::string place = at.text();
    return {Error::kUnsupported,
            kDiffersAtSizes + shapes.text(unified_.front()) + " and at " + shapes.text(point) +
                ": it takes another path or computes something else there" +
                (place.empty() ? "" : ", " + place),
            FailureKind::kDiffersAtSizes};
  }

  /// Adds why ranges of sizes are not possible, and what is.
  Failure explained(Failure failure) const {
    if (!captures_.are_open() || why_none_.empty() || !differs_at_sizes(failure)) return failure;
    failure.text +=
        "\nThe sizes cannot be divided into ranges that have a program each: " + why_none_ +
        ".\nGive dynamic a range in which the program takes one path, decide by "
        "torch.where on tensors, or export a bundle for each path";
    return failure;
  }

  /// Where the program was captured at a point at which that of all sizes does not work, what holds
  /// there has to be solved for, too (x[:2] of one row is one row); else it is another one there.
  Outcome<PlannedVariant> make_with(const BadPoint& bad, const SizeSet& sizes, const Trace& sample,
                                    const ExportOptions& options, ExportReport* report) {
    if (!contains(captures_.points(), bad.point)) return bad.failure;
    if (!contains(unified_, bad.point)) {
      SizeSet more = sizes;
      more.points.push_back(bad.point);
      auto made = make_one(more, sample, options, report);
      if (made.ok() || !differs_at_sizes(made.failure())) return made;
    }
    const std::string base = options_.dynamic->shapes.text(sizes.points[0]);
    return Failure{bad.failure.error, kDiffersAtSizes + base + " and " + bad.failure.text,
                   FailureKind::kDiffersAtSizes};
  }

  static bool differs_at_sizes(const Failure& failure) {
    return failure.kind == FailureKind::kDiffersAtSizes;
  }

  /// What make_parts has so far.
  struct Parts {
    std::vector<std::vector<DimSymbol>> ranges;
    Outcome<SizedExport> best;
    ExportReport report;  ///< of the best
    bool is_settled = false;
  };

  /// Programs of ranges that are told apart by where they differ from that of all sizes, `program`,
  /// if there is one and the check suspects it, then by what graphs are made of, then also by what
  /// stands at the places where they fail. `whole`: why there is no program of all sizes.
  Outcome<SizedExport> make_parts(const Failure& whole, const SizedProgram* program,
                                  ExportReport* report) {
    Parts parts = {{}, whole, {}, false};
    const bool is_suspected = std::any_of(given_.begin(), given_.end(),
                                          [](const Trace& trace) { return trace.suspected; });
    if (program != nullptr && (is_suspected || is_sure_))
      LAZYRT_TRY(
          try_parts([&](const auto& point) { return path_beside(*program, point); }, &parts));
    std::set<std::string> places;
    while (!parts.is_settled) {
      LAZYRT_TRY(try_parts([&](const auto& point) { return path_at(point, places); }, &parts));
      if (place_.text().empty() || !places.insert(place_.text()).second) break;
    }
    if (parts.best.ok()) *report = std::move(parts.report);
    return std::move(parts.best);
  }

  Outcome<Done> try_parts(const PathAt& path_at_point, Parts* parts) {
    const auto found = find_ranges(options_.dynamic->shapes.symbols, captures_.points(),
                                   named_numbers(), path_at_point);
    if (!found.ok()) return found.failure();
    if (!found->why_none.empty()) why_none_ = found->why_none;
    if (found->ranges.empty() || found->ranges == parts->ranges) return Done{};
    ExportReport of_these;
    auto made = make_ranges(found->ranges, &of_these);
    if (!made.ok() && !differs_at_sizes(made.failure())) return made.failure();
    why_none_ = "in one of its ranges " + (made.ok() ? made->doubt : made.failure().text);
    parts->ranges = found->ranges;
    if (!made.ok()) return Done{};
    parts->is_settled = made->doubt.empty();
    parts->report = std::move(of_these);
    parts->best = std::move(made);
    return Done{};
  }

  /// See EagerReference::numbers.
  std::vector<int64_t> named_numbers() const {
    std::vector<int64_t> all;
    if (!given_[0].eager || !given_[0].eager->numbers) return all;
    for (const auto& group : given_[0].eager->numbers())
      all.insert(all.end(), group.begin(), group.end());
    return all;
  }

  /// Whether a captured program that is not part of the one of all sizes takes another path, and
  /// where.
  Outcome<bool> takes_other_paths(const SizedProgram& program) {
    for (const SizePoint& point : captures_.points()) {
      if (contains(unified_, point)) continue;
      const auto compared = difference_at(program, point);
      if (!compared.ok()) return compared.failure();
      const auto& difference = *compared;
      if (!difference) continue;
      if (differing_.empty() || (difference->is_sure && !is_sure_)) {
        place_ = place_of_doubt_ = difference->place;
        differing_.insert(differing_.begin(), point);
      } else {
        differing_.push_back(point);
      }
      is_sure_ = is_sure_ || difference->is_sure;
      if (differing_.size() == kMostDiffering) break;
    }
    return !differing_.empty();
  }

  /// Where the program at a point differs from that of all sizes.
  Outcome<std::optional<SizeDifference>> difference_at(const SizedProgram& program,
                                                       const SizePoint& point) {
    const auto trace = captures_.at(point);
    if (!trace.ok()) return trace.failure();
    ExportReport of_this;
    const auto own = import_stage(**trace, ops_, others_, &of_this);
    if (!own.ok()) return own.failure();
    return find_size_difference(program, point, **trace, *own, plain_.pipeline);
  }

  /// Makes one graph of the program at these sizes and at the sample's.
  Outcome<PlannedVariant> make_one(const SizeSet& sizes, const Trace& sample,
                                   const ExportOptions& options, ExportReport* report) {
    const ExportReport before = *report;
    SizedGraphs graphs(sizes, &captures_, ops_, others_);
    for (size_t k = 0; k < sizes.points.size(); ++k) {
      const auto trace = captures_.at(sizes.points[k]);
      if (!trace.ok()) return trace.failure();
      ExportReport of_this;
      const bool is_first = k == 0;
      LAZYRT_TRY(graphs.add(sizes.points[k], **trace, is_first ? options : others_,
                            is_first ? report : &of_this));
    }
    LAZYRT_TRY(graphs.run_passes(options, report));
    const TimedStage stage(options, report, "sizes");
    if (captures_.are_open()) LAZYRT_TRY(graphs.add_drawn());
    auto dynamic = graphs.unify();
    place_ = graphs.place();
    unified_ = graphs.points();
    if (!dynamic.ok()) return dynamic.failure();
    constexpr int64_t kMostTried = 1024;
    if (const auto bad = try_shapes(*dynamic, sizes.points[0], kMostTried)) {
      *report = before;
      return make_with(*bad, sizes, sample, options, report);
    }
    auto graph = dynamic->at(sizes.sample);
    if (!graph.ok()) return graph.failure();
    graph->sample_inputs = sample.sample_inputs;
    graph->sample_outputs = sample.sample_outputs;
    PlannedVariant made;
    const MemoryPlan model = plan_memory(dynamic->model());
    made.plan = plan_stage(*graph, options, report, &model);
    made.reserved_bytes = find_reserve(*dynamic, model, made.plan);
    made.graph = std::move(*graph);
    made.group.trace = sample;
    report->size_rules = dynamic->text();
    made.sized = std::make_shared<const SizedProgram>(graphs.program(*dynamic));
    return made;
  }

  /// See path_of.
  Outcome<SizePath> path_at(const SizePoint& point, const std::set<std::string>& places) {
    const auto trace = captures_.at(point);
    if (!trace.ok()) return trace.failure();
    ExportReport of_this;
    const auto graph = import_stage(**trace, ops_, others_, &of_this);
    if (!graph.ok()) return graph.failure();
    return path_of(*graph, places);
  }

  /// Empty if the program is that of all sizes, else path_at() at the place where it differs.
  Outcome<SizePath> path_beside(const SizedProgram& program, const SizePoint& point) {
    const auto difference = difference_at(program, point);
    if (difference.ok() && (!*difference || !(*difference)->is_sure)) return SizePath();
    return path_at(point, {difference.ok() ? (*difference)->place.text() : ""});
  }

  using Range = std::vector<DimSymbol>;

  /// One range: its sizes, and the trace that is its sample.
  struct Part {
    Range range;
    SizeSet sizes;
    const Trace* sample = nullptr;
  };

  Outcome<SizedExport> make_ranges(std::vector<Range> ranges, ExportReport* report) {
    const SizePoint& sample = options_.dynamic->sample;
    std::stable_partition(ranges.begin(), ranges.end(),
                          [&](const Range& range) { return holds(range, sample); });
    SizedExport made;
    std::vector<Part> parts;
    std::vector<const Trace*> samples;
    for (const Range& range : ranges) {
      auto part = capture_ends(range, parts.empty());
      if (!part.ok()) return part.failure();
      parts.push_back(std::move(*part));
      LAZYRT_TRY(check_interface(parts.back()));
      samples.push_back(parts.back().sample);
    }
    LAZYRT_TRY(captures_.share_states(samples));
    Source place;  // of the doubt
    for (Part& part : parts) {
      ExportReport of_this;
      const bool is_first = made.variants.empty();
      part.sample = *captures_.at(part.sizes.sample);
      auto variant = make_one(part.sizes, *part.sample, is_first ? options_ : others_,
                              is_first ? report : &of_this);
      if (!variant.ok()) return variant.failure();
      if (made.doubt.empty()) {
        auto doubt = doubt_in(part, *variant->sized);
        if (!doubt.ok()) return doubt.failure();
        made.doubt = std::move(*doubt);
        if (!made.doubt.empty()) place = place_;
      }
      for (const DimSymbol& symbol : part.range)
        variant->sizes += (variant->sizes.empty() ? "" : "; ") + symbol.text();
      made.variants.push_back(std::move(*variant));
    }
    made.more_traces = captures_.compared();
    if (!made.doubt.empty()) place_ = place;
    return made;
  }

  /// Where a capture within a range seems to be another program than the range's. Fails if it
  /// surely is.
  Outcome<std::string> doubt_in(const Part& part, const SizedProgram& program) {
    for (const SizePoint& point : captures_.points()) {
      if (!holds(part.range, point) || contains(unified_, point)) continue;
      const auto difference = difference_at(program, point);
      if (!difference.ok()) return difference.failure();
      if (!*difference) continue;
      const auto trace = captures_.at(point);
      if (!trace.ok()) return trace.failure();
      const bool is_sure = (*difference)->is_sure;
      if (!is_sure && !(*trace)->eager) continue;
      place_ = (*difference)->place;
      Failure other = other_at(point, part.sizes.shapes, place_);
      if (is_sure) return other;
      return std::move(other.text);
    }
    return std::string();
  }

  /// Captures the ends of the range, at which its program is compared with eager.
  Outcome<Part> capture_ends(const Range& range, bool has_sample) {
    Part part = {range, {options_.dynamic->shapes, options_.dynamic->sample, fit_points(range)}};
    part.sizes.shapes.symbols = range;
    if (has_sample) part.sample = &given_[0];
    for (const SizePoint& point : check_points(range, 1, 1)) {
      const auto trace = captures_.compared_at(point);
      if (!trace.ok()) return trace.failure();
      if (part.sample != nullptr) continue;
      part.sample = *trace;
      part.sizes.sample = point;
    }
    return part;
  }

  /// Programs of ranges are variants of one method.
  Outcome<Done> check_interface(const Part& part) const {
    const auto groups = group_traces({given_[0], *part.sample});
    if (groups.ok()) return Done{};
    return Failure{
        groups.failure().error,
        "at " + part.sizes.shapes.text(part.sizes.sample) +
            " the program takes another path than with the sample: " + groups.failure().text};
  }

  const std::vector<Trace>& given_;
  const OpTable& ops_;
  const ExportOptions options_;
  ExportOptions others_;  ///< for programs whose steps are not reported one by one
  ExportOptions plain_;   ///< the same, as for a program of one size
  Captures captures_;
  static constexpr size_t kMostDiffering = 8;
  std::vector<SizePoint> differing_;  ///< points at which the program of all sizes seems to differ
  bool is_sure_ = false;              ///< at the first of these it surely differs
  Source place_;                      ///< where the last program differed
  Source place_of_doubt_;             ///< where that of all sizes does
  std::string why_none_;              ///< why there are no ranges
  std::vector<SizePoint> unified_;    ///< the points that it was made of
};

}  // namespace

Outcome<SizedExport> make_sized(const std::vector<Trace>& traces, const OpTable& ops,
                                const ExportOptions& options, ExportReport* report) {
  auto made = SizedPrograms(traces, ops, options).make(report);
  if (made.ok()) made->variants[0].group.samples = {0};
  return made;
}

}  // namespace lazyrt
