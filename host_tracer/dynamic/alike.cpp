#include "host_tracer/dynamic/alike.h"

#include <algorithm>
#include <utility>

#include "host_tracer/dynamic/constant_forms.h"

namespace lazyrt {
std::vector<int64_t> structure_of(const Graph& graph) {
  std::vector<int64_t> list;
  for (const Node& node : graph.nodes()) {
    list.push_back(static_cast<int64_t>(node.attrs.kind()));
    list.insert(list.end(), node.inputs.begin(), node.inputs.end());
    list.insert(list.end(), node.outputs.begin(), node.outputs.end());
  }
  for (ValueId id = 0; id < static_cast<ValueId>(graph.value_count()); ++id) {
    list.push_back(static_cast<int64_t>(graph.value(id).kind));
    list.push_back(graph.value(id).shape.rank());
  }
  graph.for_each_root([&](ValueId id) { list.push_back(id); });
  return list;
}

namespace {

bool same_steps(const RewriteJournal::Step& a, const RewriteJournal::Step& b) {
  return a.changed == b.changed && a.made == b.made && a.replaced == b.replaced;
}

void finish(Graph* graph) {
  graph->remove_dead();
  graph->compact();
}

}  // namespace

AlikePasses::AlikePasses(Pipeline pipeline) {
  for (Pass& pass : pipeline) stages_.push_back({std::move(pass), {}, false, {}});
}

Outcome<AlikePasses::Way> AlikePasses::run_stage(const Stage& stage, Graph* graph) {
  RewriteJournal journal;
  journal.kept = stage.kept;
  graph->journal = &journal;
  auto report = run_pass(*graph, stage.pass);
  graph->journal = nullptr;
  if (!report.ok()) return report.failure();
  return Way{std::move(journal.steps), structure_of(*graph), *report};
}

/// Whether the graphs were changed differently. If so, notes what must not be changed next time:
/// rewrites made in some graphs only, else the first that differs. Ids behind it differ anyway.
bool AlikePasses::differ(const std::vector<Way>& ways, Stage* stage) {
  const Way& first = ways[0];
  bool any = false;
  for (const Way& way : ways) {
    const size_t count = std::min(way.steps.size(), first.steps.size());
    const size_t kept = stage->kept.size();
    for (size_t i = 0; i < count; ++i) {
      if (way.steps[i].changed != first.steps[i].changed) stage->kept.insert(i);
    }
    for (size_t i = 0; i < count && stage->kept.size() == kept; ++i) {
      if (!same_steps(way.steps[i], first.steps[i])) stage->kept.insert(i);
    }
    const bool parted = stage->kept.size() > kept;
    if (!parted && (way.structure != first.structure || way.steps.size() != first.steps.size()))
      stage->left_out = true;
    any = any || parted || stage->left_out;
  }
  return any;
}

/// Whether the pass made constants that vary and have no form known to unify_graphs.
bool AlikePasses::has_unknown_constants(const std::vector<Graph>& graphs, Stage* stage) {
  bool any = false;
  for (size_t i = 0; i < stage->way.steps.size(); ++i) {
    for (const auto& [from, to] : stage->way.steps[i].replaced) {
      std::vector<const Value*> made;
      for (const Graph& graph : graphs) made.push_back(&graph.value(to));
      if (made[0]->kind != ValueKind::kConstant || !varies(made) || has_form(made)) continue;
      any = stage->kept.insert(i).second || any;
    }
  }
  return any;
}

/// Runs the pass on all graphs; returns whether it made the same changes in each. If not, they have
/// to go through it again.
Outcome<bool> AlikePasses::try_alike(Stage* stage, std::vector<Graph>* graphs) {
  std::vector<Way> ways;
  for (Graph& graph : *graphs) {
    auto way = run_stage(*stage, &graph);
    if (!way.ok()) return way.failure();
    ways.push_back(std::move(*way));
  }
  if (differ(ways, stage)) return false;
  stage->way = std::move(ways[0]);
  return !has_unknown_constants(*graphs, stage);
}

Outcome<Done> AlikePasses::run_alike(Stage* stage, std::vector<Graph>* graphs) {
  while (!stage->left_out) {
    std::vector<Graph> tried = *graphs;
    const auto same = try_alike(stage, &tried);
    if (!same.ok()) return same.failure();
    if (!*same) continue;
    *graphs = std::move(tried);
    break;
  }
  return Done{};
}

Outcome<Done> AlikePasses::run_apart(Stage* stage, std::vector<Graph>* graphs) {
  for (Graph& graph : *graphs) {
    auto way = run_stage(*stage, &graph);
    if (!way.ok()) return way.failure();
    if (&graph == &graphs->front()) stage->way = std::move(*way);
  }
  return Done{};
}

Outcome<std::vector<Graph>> AlikePasses::run(std::vector<Graph> graphs,
                                             const PipelineOptions& options,
                                             std::vector<PassReport>* reports) {
  structure_ = structure_of(graphs[0]);
  alike_ = std::all_of(graphs.begin(), graphs.end(),
                       [&](const Graph& graph) { return structure_of(graph) == structure_; });
  for (Stage& stage : stages_) {
    if (!alike_) stage = {std::move(stage.pass), {}, false, {}};
    LAZYRT_TRY(alike_ ? run_alike(&stage, &graphs) : run_apart(&stage, &graphs));
    if (reports != nullptr && !stage.left_out) reports->push_back(stage.way.report);
    if (options.after) options.after(stage.pass, graphs[0]);
  }
  for (Graph& graph : graphs) finish(&graph);
  return graphs;
}

Outcome<std::optional<Graph>> AlikePasses::run_one(Graph graph) const {
  if (alike_ && structure_of(graph) != structure_) return std::optional<Graph>();
  for (const Stage& stage : stages_) {
    if (stage.left_out) continue;
    const auto way = run_stage(stage, &graph);
    if (!way.ok()) return way.failure();
    if (!alike_) continue;
    const auto& expected = stage.way.steps;
    const bool same = way->structure == stage.way.structure &&
                      way->steps.size() == expected.size() &&
                      std::equal(expected.begin(), expected.end(), way->steps.begin(), same_steps);
    if (!same) return std::optional<Graph>();
  }
  finish(&graph);
  return std::optional<Graph>(std::move(graph));
}

}  // namespace lazyrt
