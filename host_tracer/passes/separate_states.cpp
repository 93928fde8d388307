#include <map>

#include "host_tracer/passes/pass_util.h"
#include "host_tracer/passes/passes.h"

namespace lazyrt {
namespace {

/// Copies of states, each made once.
class Copies {
 public:
  explicit Copies(Graph& graph) : graph_(graph) {}

  /// Reads a copy instead if `id` is a state.
  Outcome<Done> replace(ValueId& id) {
    if (id == kNoValue || graph_.value(id).kind != ValueKind::kState) return Done{};
    const auto [it, is_new] = copies_.try_emplace(id, kNoValue);
    if (is_new) {
      auto made = graph_.add(reshape_attrs(graph_.value(id).shape), {id}, Source());
      if (!made.ok()) return made.failure();
      it->second = *made;
    }
    id = it->second;
    return Done{};
  }
  size_t count() const { return copies_.size(); }

 private:
  Graph& graph_;
  std::map<ValueId, ValueId> copies_;
};

}  // namespace

Outcome<size_t> separate_states(Graph& graph) {
  Copies copies(graph);
  for (GraphOutput& out : graph.outputs()) LAZYRT_TRY(copies.replace(out.value));
  for (GraphState& state : graph.states()) {
    if (state.next != state.value) LAZYRT_TRY(copies.replace(state.next));
  }
  return copies.count();
}

}  // namespace lazyrt
