#include "tests/fuzz/exactness.h"

#include <algorithm>

#include "lazyrt/dtype.h"

namespace lazyrt::fuzz {
namespace {

using fb::OpAttrs;

bool is_real(const fb::ValueT& v) { return is_floating(static_cast<DType>(v.dtype)); }

/// The result holds elements of the operands as they were.
bool moves(const fb::OpAttrsUnion& op) {
  switch (op.type) {
    case OpAttrs::Where:
    case OpAttrs::MaxPool2d:
    case OpAttrs::Reshape:
    case OpAttrs::Permute:
    case OpAttrs::Expand:
    case OpAttrs::Slice:
    case OpAttrs::Concat:
    case OpAttrs::Pad:
    case OpAttrs::IndexSelect:
    case OpAttrs::Gather:
    case OpAttrs::Flip:
    case OpAttrs::Triangle:
      return true;
    case OpAttrs::Scatter:
      return op.AsScatter()->fn == fb::ScatterFn::Assign;
    default:
      return false;
  }
}

/// Of a row without spread it divides rounding by rounding.
bool is_unstable(const fb::OpAttrsUnion& op) {
  if (const auto* t = op.AsLayerNorm()) return t->epsilon < 1e-9;
  if (const auto* t = op.AsRmsNorm()) return t->epsilon < 1e-9;
  if (const auto* t = op.AsGroupNorm()) return t->epsilon < 1e-9;
  if (const auto* t = op.AsBatchNorm()) return t->epsilon < 1e-9;
  return false;
}

class Levels {
 public:
  explicit Levels(const fb::MethodT& method)
      : m_(method), levels_(method.values.size(), Exactness::kExact) {}

  /// Raises `states` to what a run leaves in them; true where that changes one.
  bool run(std::vector<Exactness>* states) {
    for (size_t i = 0; i < m_.states.size(); ++i) at(m_.states[i]->value) = (*states)[i];
    for (const auto& node : m_.nodes) visit(*node);
    bool changed = false;
    for (size_t i = 0; i < m_.states.size(); ++i) {
      if (at(m_.states[i]->next) <= (*states)[i]) continue;
      (*states)[i] = at(m_.states[i]->next);
      changed = true;
    }
    return changed;
  }

  const std::vector<Exactness>& found() const { return levels_; }

 private:
  Exactness& at(int id) { return levels_[static_cast<size_t>(id)]; }

  void visit(const fb::NodeT& node) {
    Exactness worst = Exactness::kExact;
    for (const int id : node.inputs) {
      if (id >= 0) worst = std::max(worst, at(id));
    }
    for (const int id : node.outputs) {
      if (worst != Exactness::kExact) {
        at(id) = moves(node.op) && all_real(node) ? worst : Exactness::kFree;
      } else if (moves(node.op) || !is_real(*m_.values[static_cast<size_t>(id)])) {
        at(id) = Exactness::kExact;
      } else {
        at(id) = is_unstable(node.op) ? Exactness::kFree : Exactness::kWithinRounding;
      }
    }
  }

  /// Neither an index nor a condition is among the operands.
  bool all_real(const fb::NodeT& node) const {
    return std::all_of(node.inputs.begin(), node.inputs.end(), [&](int id) {
      return id < 0 || is_real(*m_.values[static_cast<size_t>(id)]);
    });
  }

  const fb::MethodT& m_;
  std::vector<Exactness> levels_;
};

}  // namespace

std::vector<std::vector<Exactness>> exactness_of(const fb::MethodT& method) {
  std::vector<Levels> programs = {Levels(method)};
  for (const auto& variant : method.variants) programs.emplace_back(*variant);
  // States begin exact; what they become flows back until nothing changes.
  std::vector<Exactness> states(method.states.size(), Exactness::kExact);
  for (bool changed = true; changed;) {
    changed = false;
    for (Levels& program : programs) changed |= program.run(&states);
  }
  std::vector<std::vector<Exactness>> found;
  for (const Levels& program : programs) found.push_back(program.found());
  return found;
}

}  // namespace lazyrt::fuzz
