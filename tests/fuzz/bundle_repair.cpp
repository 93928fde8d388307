#include "tests/fuzz/bundle_repair.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "lazyrt/dtype.h"

namespace lazyrt::fuzz {
namespace {

using fb::ValueKind;
using test::BundleParts;

constexpr uint64_t kMostBytes = uint64_t{1} << 62;
constexpr uint64_t kMostConstantBytes = 16 << 10;
constexpr uint64_t kMostInputBytes = 1 << 20;
constexpr uint64_t kMostResultBytes = uint64_t{1} << 30;
constexpr size_t kMostConstants = 48 << 10;

/// Halves the longest extent until the value is small enough.
void shrink(fb::ValueT* v, uint64_t most) {
  while (bytes_of(v->dtype, v->shape) > most) {
    int64_t& longest = *std::max_element(v->shape.begin(), v->shape.end());
    longest /= 2;
  }
}

void append_floats(std::vector<uint8_t>* section, size_t bytes, Random* random) {
  section->resize(align_up(section->size(), kBundleAlignment));
  const size_t begin = section->size();
  section->resize(begin + bytes);
  for (size_t i = begin; i + sizeof(float) <= section->size(); i += sizeof(float)) {
    const float x = static_cast<float>(random->below(512)) / 256.0f - 1;
    std::memcpy(section->data() + i, &x, sizeof(x));
  }
}

class MethodRepair {
 public:
  MethodRepair(const OpTable& ops, Random* random, BundleParts* parts, fb::MethodT* method)
      : ops_(ops), random_(*random), parts_(*parts), m_(*method) {}

  void run() {
    for (auto& v : m_.values) limit(v.get());
    repair_nodes();
    unmade_become_inputs();
    bind_all(&m_.inputs, ValueKind::Input);
    repair_states();
    repair_outputs();
    repair_guards();
    for (auto& v : m_.values) place_constant(v.get());
    plan_arena();
    repair_literals();
    repair_samples();
    m_.symbols.clear();
    m_.terms.clear();
    m_.patches.clear();
  }

 private:
  fb::ValueT& value(int id) { return *m_.values[static_cast<size_t>(id)]; }
  bool is_value(int id) const { return id >= 0 && static_cast<size_t>(id) < m_.values.size(); }

  void limit(fb::ValueT* v) {
    if (v->shape.size() > kMaxRank) v->shape.resize(kMaxRank);
    for (int64_t& d : v->shape) d = std::max<int64_t>(d, 0);
    if (v->kind > ValueKind::MAX) v->kind = ValueKind::Input;
    if (v->dtype == fb::DType::None || v->dtype > fb::DType::MAX) v->dtype = fb::DType::Float32;
    if (v->kind == ValueKind::Constant) shrink(v, kMostConstantBytes);
    if (v->kind == ValueKind::Input || v->kind == ValueKind::State)
      shrink(v, random_.one_in(64) ? 64 * kMostInputBytes : kMostInputBytes);
    v->bytes = bytes_of(v->dtype, v->shape);
    v->symbols.clear();
    if (v->quantization != nullptr && !random_.one_in(32)) v->quantization = nullptr;
    if (v->alias_of != -1 && (!is_value(v->alias_of) || &value(v->alias_of) == v)) v->alias_of = -1;
  }

  TensorSpec spec(int id) {
    if (id < 0) return {};
    const fb::ValueT& v = value(id);
    return {static_cast<DType>(v.dtype), Shape(Span<const int64_t>(v.shape)), nullptr};
  }

  void repair_nodes() {
    made_.assign(m_.values.size(), false);
    for (size_t i = 0; i < m_.values.size(); ++i) {
      made_[i] = m_.values[i]->kind != ValueKind::Arena;
    }
    std::vector<std::unique_ptr<fb::NodeT>> kept;
    for (auto& node : m_.nodes) {
      if (repair_node(node.get()) || random_.one_in(512)) kept.push_back(std::move(node));
    }
    m_.nodes = std::move(kept);
  }

  bool repair_node(fb::NodeT* node) {
    flatbuffers::FlatBufferBuilder builder;
    if (node->op.type == fb::OpAttrs::NONE || node->op.type > fb::OpAttrs::MAX) return false;
    if (node->op.type == fb::OpAttrs::CustomOp) return random_.one_in(64);
    const OpDef& def = *ops_.builtin[static_cast<size_t>(node->op.type)].def;
    for (int32_t& id : node->inputs) {
      if (id != -1 && !(is_value(id) && made_[static_cast<size_t>(id)])) id = any_made();
    }
    if (node->source < -1 || node->source >= static_cast<int>(m_.sources.size())) node->source = -1;
    std::vector<TensorSpec> out(static_cast<size_t>(def.outputs));
    if (!infer(def, node, &out)) {
      fit_lists(node);
      if (!infer(def, node, &out)) return false;
    }
    return set_outputs(node, out);
  }

  bool infer(const OpDef& def, fb::NodeT* node, std::vector<TensorSpec>* out) {
    flatbuffers::FlatBufferBuilder builder;
    builder.Finish(flatbuffers::Offset<void>(node->op.Pack(builder)));
    const OpAttrs attrs = {node->op.type, flatbuffers::GetRoot<void>(builder.GetBufferPointer())};
    std::vector<TensorSpec> in;
    for (int32_t id : node->inputs) in.push_back(spec(id));
    return def.infer(attrs, in, *out).ok();
  }

  /// Lists of the attributes get the length that the first operand asks for.
  void fit_lists(fb::NodeT* node) {
    if (node->inputs.empty() || node->inputs[0] < 0) return;
    const fb::ValueT& x = value(node->inputs[0]);
    for (auto* list : long_lists(&node->op)) {
      list->resize(x.shape.size());
      for (size_t i = 0; i < list->size() && random_.one_in(2); ++i) (*list)[i] = x.shape[i];
    }
    for (auto* list : int_lists(&node->op)) {
      list->resize(x.shape.size());
      for (size_t i = 0; i < list->size(); ++i) (*list)[i] = static_cast<int32_t>(i);
    }
  }

  bool set_outputs(fb::NodeT* node, const std::vector<TensorSpec>& out) {
    for (const TensorSpec& s : out) {
      if (s.bytes() > kMostResultBytes && !random_.one_in(32)) return false;
    }
    node->outputs.resize(out.size(), -1);
    for (size_t i = 0; i < out.size(); ++i) {
      int32_t& id = node->outputs[i];
      if (!is_value(id) || made_[static_cast<size_t>(id)]) id = new_value();
      fb::ValueT& v = value(id);
      v.kind = ValueKind::Arena;
      v.dtype = static_cast<fb::DType>(out[i].dtype);
      v.shape.assign(out[i].shape.begin(), out[i].shape.end());
      v.bytes = bytes_of(v.dtype, v.shape);
      made_[static_cast<size_t>(id)] = true;
      const bool can_share = v.alias_of >= 0 && v.alias_of < id && i == 0 &&
                             std::count(node->inputs.begin(), node->inputs.end(), v.alias_of) > 0 &&
                             value(v.alias_of).bytes == v.bytes;
      if (!can_share) v.alias_of = -1;
    }
    return true;
  }

  int32_t new_value() {
    m_.values.push_back(std::make_unique<fb::ValueT>());
    made_.push_back(false);
    return static_cast<int32_t>(m_.values.size()) - 1;
  }

  int32_t any_made() {
    std::vector<int32_t> all;
    for (size_t i = 0; i < made_.size(); ++i) {
      if (made_[i]) all.push_back(static_cast<int32_t>(i));
    }
    return all.empty() ? -1 : random_.any(all);
  }

  void unmade_become_inputs() {
    for (size_t i = 0; i < m_.values.size(); ++i) {
      fb::ValueT& v = *m_.values[i];
      if (v.kind != ValueKind::Arena || made_[i]) continue;
      v.kind = ValueKind::Input;
      limit(&v);
      made_[i] = true;
    }
    for (auto& v : m_.values) {
      if (v->kind != ValueKind::Arena) v->alias_of = -1;
    }
  }

  /// Every value of the kind has one binding, and only those.
  void bind_all(std::vector<std::unique_ptr<fb::BindingT>>* bindings, ValueKind kind) {
    std::vector<std::unique_ptr<fb::BindingT>> kept;
    std::set<int> bound;
    for (auto& b : *bindings) {
      if (is_value(b->value) && value(b->value).kind == kind && bound.insert(b->value).second)
        kept.push_back(std::move(b));
    }
    for (size_t i = 0; i < m_.values.size(); ++i) {
      if (m_.values[i]->kind != kind || bound.count(static_cast<int>(i)) != 0) continue;
      kept.push_back(std::make_unique<fb::BindingT>());
      kept.back()->value = static_cast<int>(i);
    }
    *bindings = std::move(kept);
    std::set<std::string> names;
    for (size_t i = 0; i < bindings->size(); ++i) {
      unique(&(*bindings)[i]->name, "x" + std::to_string(i), &names);
    }
  }

  static void unique(std::string* name, std::string otherwise, std::set<std::string>* taken) {
    if (name->empty() || name->find('\0') != std::string::npos || name->size() > 100 ||
        taken->count(*name) != 0)
      *name = std::move(otherwise);
    while (taken->count(*name) != 0) *name += "_";
    taken->insert(*name);
  }

  bool alike(int a, int b) {
    return value(a).dtype == value(b).dtype && value(a).shape == value(b).shape;
  }

  void repair_states() {
    std::vector<std::unique_ptr<fb::StateT>> kept;
    std::set<int> bound;
    std::set<std::string> names;
    for (auto& s : m_.states) {
      if (is_value(s->value) && value(s->value).kind == ValueKind::State &&
          bound.insert(s->value).second)
        kept.push_back(std::move(s));
    }
    for (size_t i = 0; i < m_.values.size(); ++i) {
      if (m_.values[i]->kind != ValueKind::State || bound.count(static_cast<int>(i)) != 0) continue;
      kept.push_back(std::make_unique<fb::StateT>());
      kept.back()->value = kept.back()->next = static_cast<int>(i);
    }
    m_.states = std::move(kept);
    for (auto& s : m_.states) {
      unique(&s->name, "s" + std::to_string(s->value), &names);
      if (!is_value(s->next) || !alike(s->next, s->value) ||
          (value(s->next).kind == ValueKind::State && s->next != s->value))
        s->next = s->value;
      if (!is_value(s->initial) || !alike(s->initial, s->value) ||
          value(s->initial).kind != ValueKind::Constant)
        s->initial = -1;
    }
  }

  void repair_outputs() {
    auto& outputs = m_.outputs;
    outputs.erase(std::remove_if(outputs.begin(), outputs.end(),
                                 [&](const auto& b) {
                                   return !is_value(b->value) ||
                                          value(b->value).kind == ValueKind::State;
                                 }),
                  outputs.end());
    for (size_t i = m_.values.size(); outputs.empty() && i > 0; --i) {
      if (m_.values[i - 1]->kind == ValueKind::State) continue;
      outputs.push_back(std::make_unique<fb::BindingT>());
      outputs.back()->value = static_cast<int>(i) - 1;
    }
    std::set<std::string> names;
    for (size_t i = 0; i < outputs.size(); ++i) {
      unique(&outputs[i]->name, "y" + std::to_string(i), &names);
    }
    for (auto& literal : m_.literals) unique(&literal->name, "l", &names);
  }

  void repair_guards() {
    auto& guards = m_.guards;
    guards.erase(std::remove_if(guards.begin(), guards.end(),
                                [&](const auto& g) {
                                  if (!is_value(g->value)) return true;
                                  const fb::ValueT& v = value(g->value);
                                  return v.bytes != dtype_size(static_cast<DType>(v.dtype));
                                }),
                 guards.end());
    for (auto& g : guards) repair_guard(g.get(), value(g->value));
  }

  void repair_guard(fb::GuardT* g, const fb::ValueT& v) {
    const auto dtype = static_cast<DType>(v.dtype);
    if (g->kind == fb::GuardKind::Truth || g->kind > fb::GuardKind::MAX || dtype == DType::kBool) {
      g->seen_integer &= 1;
    }
    const bool is_real = g->kind == fb::GuardKind::Equal && is_floating(dtype);
    if (is_real) g->seen_integer = 0;
    if (!is_real || !std::isfinite(g->tolerance) || g->tolerance < 0) g->tolerance = 0;
    if (!is_real) g->seen_real = 0;
    const size_t bits = dtype_bits(dtype);
    if (!is_real && bits < 64) g->seen_integer &= (int64_t{1} << (bits - 1)) - 1;
    if (g->source < -1 || g->source >= static_cast<int>(m_.sources.size())) g->source = -1;
  }

  void place_constant(fb::ValueT* v) {
    if (v->kind == ValueKind::State) v->offset = 0;
    if (v->kind != ValueKind::Constant) return;
    v->offset = v->offset / kBundleAlignment * kBundleAlignment;
    const uint64_t size = parts_.constants.size();
    if (v->offset <= size && v->bytes <= size - v->offset) return;
    v->offset = 0;
    if (v->bytes <= size) return;
    if (size + v->bytes <= kMostConstants) {
      v->offset = align_up(size, kBundleAlignment);
      append_floats(&parts_.constants, v->bytes, &random_);
    } else {
      append_floats(&parts_.constants, v->bytes - size, &random_);
    }
  }

  /// Where a value of the arena lives: from the node that makes it to its last use.
  struct Life {
    int64_t from = -1, to = -1;
    uint64_t offset = 0;
  };

  int root_of(int id) {
    for (size_t steps = m_.values.size(); steps > 0 && value(id).alias_of >= 0; --steps)
      id = value(id).alias_of;
    return id;
  }

  std::map<int, Life> lives() {
    std::map<int, Life> all;
    const auto end = static_cast<int64_t>(m_.nodes.size());
    const auto use = [&](int id, int64_t at) {
      if (!is_value(id)) return;
      const ValueKind kind = value(id).kind;
      if (kind != ValueKind::Arena && kind != ValueKind::Input) return;
      Life& life = all[root_of(id)];
      life.to = std::max(life.to, at);
    };
    for (size_t i = 0; i < m_.values.size(); ++i) {
      if (m_.values[i]->kind == ValueKind::Input) use(static_cast<int>(i), end);
    }
    for (int64_t n = 0; n < end; ++n) {
      const fb::NodeT& node = *m_.nodes[static_cast<size_t>(n)];
      for (int32_t id : node.inputs) use(id, n);
      for (int32_t id : node.outputs) {
        use(id, n);
        if (is_value(id) && root_of(id) == id) all[id].from = n;
      }
    }
    for (auto& b : m_.outputs) use(b->value, end);
    for (auto& s : m_.states) use(s->next, end);
    for (auto& g : m_.guards) use(g->value, end);
    return all;
  }

  /// One after the other, or each at the lowest place that is free while it lives.
  void plan_arena() {
    std::map<int, Life> all = lives();
    const bool reuse = random_.one_in(2);
    std::vector<int> placed;
    uint64_t top = 0;
    for (auto& [id, life] : all) {
      life.offset = reuse ? lowest_free(all, placed, life, room(id)) : top;
      top = std::max(top, life.offset + room(id));
      placed.push_back(id);
    }
    m_.arena_bytes = top;
    for (size_t i = 0; i < m_.values.size(); ++i) {
      const auto found = all.find(root_of(static_cast<int>(i)));
      if (found != all.end()) m_.values[i]->offset = found->second.offset;
    }
  }

  uint64_t room(int id) { return align_up(value(id).bytes + kBundleTailBytes, kBundleAlignment); }

  uint64_t lowest_free(const std::map<int, Life>& all, const std::vector<int>& placed,
                       const Life& life, uint64_t bytes) {
    std::vector<std::pair<uint64_t, uint64_t>> taken;
    for (int other : placed) {
      const Life& o = all.at(other);
      if (o.from <= life.to && life.from <= o.to)
        taken.push_back({o.offset, o.offset + room(other)});
    }
    std::sort(taken.begin(), taken.end());
    uint64_t at = 0;
    for (const auto& [begin, end] : taken) {
      if (begin >= at + bytes) break;
      at = std::max(at, end);
    }
    return at;
  }

  void repair_literals() {
    uint32_t position = 0;
    for (auto& literal : m_.literals) {
      literal->position = position++;
      if (literal->dtype == fb::DType::None || literal->dtype > fb::DType::MAX)
        literal->dtype = fb::DType::Int64;
    }
  }

  void repair_samples() {
    if (m_.samples.size() > 2) m_.samples.resize(2);
    for (auto& s : m_.samples) {
      repair_blobs(m_.inputs, &s->inputs);
      repair_blobs(m_.outputs, &s->outputs);
      if (!(s->absolute >= 0 && std::isfinite(s->absolute))) s->absolute = 0;
      if (!(s->relative >= 0 && std::isfinite(s->relative))) s->relative = 0;
    }
  }

  void repair_blobs(const std::vector<std::unique_ptr<fb::BindingT>>& bindings,
                    std::vector<std::unique_ptr<fb::BlobT>>* blobs) {
    blobs->resize(bindings.size());
    for (size_t i = 0; i < blobs->size(); ++i) {
      if ((*blobs)[i] == nullptr) (*blobs)[i] = std::make_unique<fb::BlobT>();
      fb::BlobT& blob = *(*blobs)[i];
      const fb::ValueT& v = value(bindings[i]->value);
      blob.dtype = v.dtype;
      blob.shape = v.shape;
      blob.bytes = v.bytes;
      blob.offset = blob.offset / kBundleAlignment * kBundleAlignment;
      if (blob.offset > parts_.samples.size()) blob.offset = 0;
      const uint64_t end = blob.offset + blob.bytes;
      if (end > parts_.samples.size() && end <= kMostConstants) parts_.samples.resize(end);
    }
  }

  const OpTable& ops_;
  Random& random_;
  BundleParts& parts_;
  fb::MethodT& m_;
  std::vector<bool> made_;
};

template <class List>
bool same_names(List* variants, const List& methods) {
  if (variants->size() != methods.size()) return false;
  for (size_t i = 0; i < methods.size(); ++i) (*variants)[i]->name = methods[i]->name;
  return true;
}

/// Gives the variant its method's names; false: they have not the same interface.
bool fit_variant(const fb::MethodT& m, fb::MethodT* v) {
  const auto dtype = [](const fb::MethodT& of, int value) {
    return of.values[static_cast<size_t>(value)]->dtype;
  };
  if (!same_names(&v->inputs, m.inputs) || !same_names(&v->outputs, m.outputs) ||
      !same_names(&v->literals, m.literals) || !same_names(&v->states, m.states))
    return false;
  for (size_t i = 0; i < m.inputs.size(); ++i) {
    if (dtype(m, m.inputs[i]->value) != dtype(*v, v->inputs[i]->value)) return false;
  }
  for (size_t i = 0; i < m.outputs.size(); ++i) {
    if (dtype(m, m.outputs[i]->value) != dtype(*v, v->outputs[i]->value)) return false;
  }
  return true;
}

void repair_method(const OpTable& ops, Random* random, BundleParts* parts, fb::MethodT* method) {
  MethodRepair(ops, random, parts, method).run();
  std::vector<std::unique_ptr<fb::MethodT>> kept;
  for (auto& variant : method->variants) {
    variant->variants.clear();
    MethodRepair(ops, random, parts, variant.get()).run();
    if (fit_variant(*method, variant.get()) || random->one_in(64))
      kept.push_back(std::move(variant));
  }
  method->variants = std::move(kept);
}

}  // namespace

uint64_t bytes_of(fb::DType dtype, const std::vector<int64_t>& shape) {
  const auto type = static_cast<DType>(dtype);
  uint64_t numel = 1;
  for (const int64_t d : shape) {
    if (d <= 0) return 0;
    if (__builtin_mul_overflow(numel, static_cast<uint64_t>(d), &numel) || numel > kMostBytes / 8)
      numel = kMostBytes / 8;
  }
  return dtype_bytes(type, static_cast<int64_t>(numel));
}

std::vector<std::vector<int64_t>*> long_lists(fb::OpAttrsUnion* op) {
  if (auto* t = op->AsReshape()) return {&t->shape};
  if (auto* t = op->AsExpand()) return {&t->shape};
  if (auto* t = op->AsSlice()) return {&t->starts, &t->sizes, &t->steps};
  if (auto* t = op->AsPad()) return {&t->before, &t->after};
  return {};
}

std::vector<std::vector<int32_t>*> int_lists(fb::OpAttrsUnion* op) {
  if (auto* t = op->AsReduce()) return {&t->axes};
  if (auto* t = op->AsPermute()) return {&t->perm};
  if (auto* t = op->AsFlip()) return {&t->axes};
  return {};
}

void repair(const OpTable& ops, Random* random, BundleParts* parts) {
  std::set<std::string> names;
  auto& methods = parts->bundle.methods;
  for (size_t i = 0; i < methods.size(); ++i) {
    repair_method(ops, random, parts, methods[i].get());
    if (methods[i]->name.empty() || names.count(methods[i]->name) != 0)
      methods[i]->name = "m" + std::to_string(i);
    names.insert(methods[i]->name);
  }
}

}  // namespace lazyrt::fuzz
