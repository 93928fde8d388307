#include "host_tracer/plan/memory_plan.h"

#include <algorithm>
#include <map>

#include "host_tracer/plan/packing.h"
#include "schema/bundle_file.h"

namespace lazyrt {
namespace {

class Planner {
 public:
  Planner(const Graph& graph, const MemoryPlan* model)
      : graph_(graph),
        model_(model),
        end_(static_cast<int32_t>(graph.nodes().size())),
        last_read_(graph.value_count(), -1),
        allocation_of_(graph.value_count(), -1) {
    plan_.values.resize(graph.value_count());
  }

  MemoryPlan run() {
    find_last_reads();
    for (size_t i = 0; i < plan_.values.size(); ++i) {
      plan_.values[i].bytes = graph_.value(static_cast<ValueId>(i)).bytes();
    }
    for (ValueId id : graph_.inputs()) allocate(id, -1);
    for (int32_t n = 0; n < end_; ++n) place_results(n);
    plan_.arena_bytes = plan_.allocations.empty() ? 0 : pack(&plan_.allocations);
    plan_.lower_bound = peak_bytes(plan_.allocations);
    for (size_t i = 0; i < plan_.values.size(); ++i) {
      if (allocation_of_[i] >= 0) plan_.values[i].offset = allocation(i).offset;
    }
    return std::move(plan_);
  }

 private:
  Allocation& allocation(size_t id) {
    return plan_.allocations[static_cast<size_t>(allocation_of_[id])];
  }

  void find_last_reads() {
    for (int32_t n = 0; n < end_; ++n) {
      const Node& node = graph_.nodes()[static_cast<size_t>(n)];
      for (ValueId id : node.outputs) last_read_[static_cast<size_t>(id)] = n;
      for (ValueId id : node.inputs) {
        if (id != kNoValue) last_read_[static_cast<size_t>(id)] = n;
      }
    }
    for (ValueId id : graph_.inputs()) last_read_[static_cast<size_t>(id)] = end_;
    for (const GraphOutput& out : graph_.outputs()) keep_to_end(out.value);
    for (const GraphState& state : graph_.states()) keep_to_end(state.next);
    // A guard reads its value right after the node that makes it.
  }

  void keep_to_end(ValueId id) {
    if (id != kNoValue) last_read_[static_cast<size_t>(id)] = end_;
  }

  void allocate(ValueId id, int32_t first) {
    const auto i = static_cast<size_t>(id);
    allocation_of_[i] = static_cast<int32_t>(plan_.allocations.size());
    plan_.allocations.push_back({id, first, last_read_[i], 0, room_of(plan_.values[i].bytes)});
  }

  void share(ValueId id, ValueId with) {
    const auto i = static_cast<size_t>(id), w = static_cast<size_t>(with);
    plan_.values[i].alias_of = with;
    allocation_of_[i] = allocation_of_[w];
    allocation(i).last = std::max(allocation(i).last, last_read_[i]);
  }

  /// True when the first result of node n may be written over this operand: same bytes and number
  /// of elements (f32[1] < f32[4] gives four bytes too), a node's value, nothing that shares its
  /// memory is read after n, nor by n as another operand.
  bool may_overwrite(int32_t n, const Node& node, const OpDef& def, ValueId operand) {
    if (operand == kNoValue || graph_.value(operand).kind != ValueKind::kNode) return false;
    const auto o = static_cast<size_t>(operand);
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      const ValueId other = node.inputs[i];
      if (other == kNoValue || (other == operand && def.may_overwrite(i))) continue;
      if (allocation_of_[static_cast<size_t>(other)] == allocation_of_[o]) return false;
    }
    const Allocation& a = allocation(o);
    return a.first >= 0 && a.last == n &&
           plan_.values[o].bytes == plan_.values[static_cast<size_t>(node.outputs[0])].bytes &&
           graph_.value(operand).shape.numel() == graph_.value(node.outputs[0]).shape.numel();
  }

  bool place_view(const Node& node, const OpDef& def) {
    if (!def.is_view) return false;
    const ValueKind kind = graph_.value(node.inputs[0]).kind;
    if (kind == ValueKind::kConstant || kind == ValueKind::kState) return false;
    share(node.outputs[0], node.inputs[0]);
    ++plan_.views;
    return true;
  }

  bool place_in_place(int32_t n, const Node& node, const OpDef& def) {
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      if (!def.may_overwrite(i)) continue;
      if (!may_overwrite(n, node, def, node.inputs[i])) continue;
      if (!shares_in_model(node.outputs[0], node.inputs[i])) continue;
      share(node.outputs[0], node.inputs[i]);
      ++plan_.in_place;
      return true;
    }
    return false;
  }

  bool shares_in_model(ValueId id, ValueId with) const {
    return model_ == nullptr || model_->values[static_cast<size_t>(id)].alias_of == with;
  }

  void place_results(int32_t n) {
    const Node& node = graph_.nodes()[static_cast<size_t>(n)];
    const OpDef& def = *graph_.ops().find(node.attrs.view())->def;
    for (size_t k = 0; k < node.outputs.size(); ++k) {
      if (k == 0 && (place_view(node, def) || place_in_place(n, node, def))) continue;
      allocate(node.outputs[k], n);
    }
  }

  const Graph& graph_;
  const MemoryPlan* model_;
  const int32_t end_;
  std::vector<int32_t> last_read_;
  std::vector<int32_t> allocation_of_;
  MemoryPlan plan_;
};

}  // namespace

MemoryPlan plan_memory(const Graph& graph, const MemoryPlan* model) {
  return Planner(graph, model).run();
}

uint64_t reserved_arena(const std::vector<MemoryPlan>& plans) {
  std::map<ValueId, Allocation> largest;
  for (const MemoryPlan& plan : plans) {
    for (const Allocation& piece : plan.allocations) {
      Allocation& joined = largest.try_emplace(piece.owner, piece).first->second;
      joined.first = std::min(joined.first, piece.first);
      joined.last = std::max(joined.last, piece.last);
      joined.bytes = std::max(joined.bytes, piece.bytes);
    }
  }
  std::vector<Allocation> pieces;
  uint64_t most = 0;
  for (const auto& [owner, piece] : largest) pieces.push_back(piece);
  for (const MemoryPlan& plan : plans) most = std::max(most, plan.arena_bytes);
  return pieces.empty() ? 0 : std::max(most, pack(&pieces));
}

}  // namespace lazyrt
