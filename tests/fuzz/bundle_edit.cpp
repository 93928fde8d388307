#include "tests/fuzz/bundle_edit.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "tests/fuzz/numbers.h"
#include "tests/fuzz/patch_edit.h"
#include "tests/support/reflect.h"

namespace lazyrt::fuzz {
namespace {

using fb::ValueKind;
using test::BundleParts;

constexpr double kReals[] = {0,     1,      -1,     0.5,      2,         1e-5,
                             1e300, -1e300, 1e-300, HUGE_VAL, -HUGE_VAL, NAN};

int64_t any_integer(Random* random, int64_t old) {
  switch (random->below(4)) {
    case 0:
      return random->any(kNumbers);
    case 1:
      return static_cast<int64_t>(static_cast<uint64_t>(old) + random->below(9) - 4);
    default:
      return static_cast<int64_t>(random->below(9));
  }
}

double any_real(Random* random, double old) {
  switch (random->below(3)) {
    case 0:
      return random->any(kReals);
    case 1:
      return old * (static_cast<double>(random->below(9)) - 4) / 2;
    default:
      return static_cast<double>(random->below(33)) / 8 - 2;
  }
}

template <class T>
void write_integer(uint8_t* at, Random* random) {
  const auto old = static_cast<int64_t>(flatbuffers::ReadScalar<T>(at));
  flatbuffers::WriteScalar(at, static_cast<T>(any_integer(random, old)));
}
template <class T>
void write_real(uint8_t* at, Random* random) {
  const auto old = static_cast<double>(flatbuffers::ReadScalar<T>(at));
  flatbuffers::WriteScalar(at, static_cast<T>(any_real(random, old)));
}

void write_scalar(uint8_t* at, flatbuffers::ElementaryType type, Random* random) {
  switch (type) {
    case flatbuffers::ET_BOOL:
      return flatbuffers::WriteScalar(at, static_cast<uint8_t>(random->below(2)));
    case flatbuffers::ET_UCHAR:
      return flatbuffers::WriteScalar(at, static_cast<uint8_t>(random->below(26)));
    case flatbuffers::ET_INT:
      return write_integer<int32_t>(at, random);
    case flatbuffers::ET_UINT:
      return write_integer<uint32_t>(at, random);
    case flatbuffers::ET_LONG:
      return write_integer<int64_t>(at, random);
    case flatbuffers::ET_ULONG:
      return write_integer<uint64_t>(at, random);
    case flatbuffers::ET_FLOAT:
      return write_real<float>(at, random);
    case flatbuffers::ET_DOUBLE:
      return write_real<double>(at, random);
    default:
      return;  // the kind of a union: parts are exchanged otherwise
  }
}

/// Scalars and elements of lists of scalars, by path.
using Scalars = std::map<std::string, std::vector<test::FieldAt>>;

Scalars scalars_of(uint8_t* root) {
  Scalars all;
  test::visit_fields(root, fb::BundleTypeTable(), [&](const test::FieldAt& f) {
    const size_t width = test::scalar_bytes(f.type);
    if (width == 0 || f.type == flatbuffers::ET_UTYPE) return;
    if (!f.is_vector) return all[f.path].push_back(f);
    uint8_t* list = f.where + flatbuffers::ReadScalar<uint32_t>(f.where);
    const auto count = flatbuffers::ReadScalar<uint32_t>(list);
    for (uint32_t i = 0; i < count; ++i) {
      test::FieldAt element = f;
      element.where = list + 4 + i * width;
      all[f.path].push_back(element);
    }
  });
  return all;
}

class Editor {
 public:
  Editor(const OpTable& ops, Random* random, BundleParts* parts)
      : ops_(ops), random_(*random), parts_(*parts) {
    fb::MethodT* method = random_.any(parts_.bundle.methods).get();
    if (!method->variants.empty() && random_.one_in(2))
      method = random_.any(method->variants).get();
    m_ = method;
  }

  void run() {
    using Edit = void (Editor::*)();
    static constexpr Edit kEdits[] = {
        &Editor::scalar,         &Editor::scalar,          &Editor::scalar,
        &Editor::scalar,         &Editor::scalar,          &Editor::operand,
        &Editor::operand,        &Editor::operand_count,   &Editor::add_node,
        &Editor::add_node,       &Editor::copy_node,       &Editor::remove_node,
        &Editor::swap_nodes,     &Editor::extent,          &Editor::extent,
        &Editor::rank,           &Editor::dtype,           &Editor::kind,
        &Editor::alias,          &Editor::constant_offset, &Editor::add_output,
        &Editor::remove_output,  &Editor::add_guard,       &Editor::remove_guard,
        &Editor::state_next,     &Editor::state_initial,   &Editor::add_variant,
        &Editor::remove_variant, &Editor::add_method,      &Editor::remove_method,
        &Editor::attribute_list, &Editor::add_value,       &Editor::literal,
        &Editor::sample,         &Editor::refill};
    (this->*random_.any(kEdits))();
  }

 private:
  fb::ValueT* any_value() { return m_->values.empty() ? nullptr : random_.any(m_->values).get(); }
  int any_id() { return static_cast<int>(random_.below(m_->values.size() + 1)) - 1; }
  fb::NodeT* any_node() { return m_->nodes.empty() ? nullptr : random_.any(m_->nodes).get(); }
  int64_t small() { return static_cast<int64_t>(random_.below(random_.one_in(4) ? 70 : 9)); }

  void scalar() { edit_scalar(&random_, &parts_); }

  void operand() {
    fb::NodeT* node = any_node();
    if (node != nullptr && !node->inputs.empty()) random_.any(node->inputs) = any_id();
  }
  void operand_count() {
    fb::NodeT* node = any_node();
    if (node == nullptr) return;
    if (random_.one_in(2) && !node->inputs.empty()) return node->inputs.pop_back();
    node->inputs.push_back(any_id());
  }

  /// The table of a node of this kind, all attributes at their defaults.
  fb::OpAttrsUnion default_table(fb::OpAttrs kind) {
    flatbuffers::FlatBufferBuilder builder;
    builder.Finish(flatbuffers::Offset<flatbuffers::Table>(builder.EndTable(builder.StartTable())));
    fb::OpAttrsUnion u;
    u.type = kind;
    u.value = fb::OpAttrsUnion::UnPack(
        flatbuffers::GetRoot<flatbuffers::Table>(builder.GetBufferPointer()), kind, nullptr);
    return u;
  }
  void add_node() {
    const auto kind =
        static_cast<fb::OpAttrs>(2 + random_.below(static_cast<size_t>(fb::OpAttrs::MAX) - 1));
    auto node = std::make_unique<fb::NodeT>();
    node->op = default_table(kind);
    const OpDef& def = *ops_.builtin[static_cast<size_t>(kind)].def;
    const size_t most = def.max_inputs < 0 ? 6 : static_cast<size_t>(def.max_inputs);
    const auto least = static_cast<size_t>(def.min_inputs);
    const size_t count = least + (most > least ? random_.below(most - least + 1) : 0);
    for (size_t i = 0; i < count; ++i) node->inputs.push_back(any_id());
    insert(std::move(node));
    if (random_.one_in(2)) scalar();
  }
  void insert(std::unique_ptr<fb::NodeT> node) {
    const size_t at = random_.below(m_->nodes.size() + 1);
    m_->nodes.insert(m_->nodes.begin() + static_cast<std::ptrdiff_t>(at), std::move(node));
    add_output();
  }
  void copy_node() {
    const fb::NodeT* node = any_node();
    if (node == nullptr || m_->nodes.size() > 60) return;
    auto copy = std::make_unique<fb::NodeT>(*node);
    copy->outputs.clear();
    if (!copy->inputs.empty())
      copy->inputs[0] = node->outputs.empty() ? any_id() : node->outputs[0];
    m_->nodes.push_back(std::move(copy));
  }
  void remove_node() {
    if (!m_->nodes.empty())
      m_->nodes.erase(m_->nodes.begin() +
                      static_cast<std::ptrdiff_t>(random_.below(m_->nodes.size())));
  }
  void swap_nodes() {
    if (!m_->nodes.empty()) std::swap(random_.any(m_->nodes), random_.any(m_->nodes));
  }

  void extent() {
    fb::ValueT* v = any_value();
    if (v != nullptr && !v->shape.empty())
      random_.any(v->shape) = random_.one_in(4) ? any_integer(&random_, 3) : small();
  }
  void rank() {
    fb::ValueT* v = any_value();
    if (v == nullptr) return;
    if (random_.one_in(2) && !v->shape.empty()) return v->shape.pop_back();
    v->shape.insert(
        v->shape.begin() + static_cast<std::ptrdiff_t>(random_.below(v->shape.size() + 1)),
        random_.one_in(2) ? 1 : small());
  }
  void dtype() {
    if (fb::ValueT* v = any_value()) v->dtype = static_cast<fb::DType>(1 + random_.below(10));
  }
  void kind() {
    if (fb::ValueT* v = any_value()) v->kind = static_cast<ValueKind>(random_.below(4));
  }
  void alias() {
    const fb::NodeT* node = any_node();
    if (node == nullptr || node->outputs.empty() || node->inputs.empty()) return;
    const auto id = static_cast<size_t>(node->outputs[0]);
    if (id < m_->values.size())
      m_->values[id]->alias_of = node->inputs[random_.below(node->inputs.size())];
  }
  void constant_offset() {
    if (fb::ValueT* v = any_value())
      v->offset = random_.below(parts_.constants.size() / 64 + 1) * 64;
  }
  void add_value() {
    m_->values.push_back(std::make_unique<fb::ValueT>());
    if (random_.one_in(2)) *m_->values.back() = *any_value();
    kind();
  }

  void add_output() {
    m_->outputs.push_back(std::make_unique<fb::BindingT>());
    m_->outputs.back()->value = any_id();
  }
  void remove_output() {
    if (m_->outputs.size() > 1) m_->outputs.pop_back();
  }
  void add_guard() {
    auto guard = std::make_unique<fb::GuardT>();
    std::vector<int> ones;
    for (size_t i = 0; i < m_->values.size(); ++i) {
      if (std::all_of(m_->values[i]->shape.begin(), m_->values[i]->shape.end(),
                      [](int64_t d) { return d == 1; }))
        ones.push_back(static_cast<int>(i));
    }
    if (ones.empty()) return;
    guard->value = random_.any(ones);
    guard->kind = static_cast<fb::GuardKind>(random_.below(2));
    guard->seen_integer = static_cast<int64_t>(random_.below(3));
    guard->text = "x";
    m_->guards.push_back(std::move(guard));
  }
  void remove_guard() {
    if (!m_->guards.empty()) m_->guards.pop_back();
  }
  void state_next() {
    if (!m_->states.empty()) random_.any(m_->states)->next = any_id();
  }
  void state_initial() {
    if (!m_->states.empty()) random_.any(m_->states)->initial = any_id();
  }
  void literal() {
    m_->literals.push_back(std::make_unique<fb::LiteralT>());
    m_->literals.back()->dtype = static_cast<fb::DType>(1 + random_.below(10));
  }
  void sample() { m_->samples.push_back(std::make_unique<fb::SampleT>()); }
  void refill() {
    for (uint8_t& byte : parts_.constants) {
      if (random_.one_in(16)) byte = static_cast<uint8_t>(random_.below(256));
    }
  }

  /// What a variant has to keep is the interface: it differs in one thing for a start.
  void add_variant() {
    fb::MethodT& method = *random_.any(parts_.bundle.methods);
    if (method.variants.size() > 4) return;
    auto variant = std::make_unique<fb::MethodT>(method);
    variant->variants.clear();
    m_ = variant.get();
    const auto edits = {&Editor::extent, &Editor::operand, &Editor::add_guard, &Editor::state_next};
    (this->*std::data(edits)[random_.below(edits.size())])();
    if (random_.one_in(2)) {
      m_ = &method;
      add_guard();
    }
    method.variants.push_back(std::move(variant));
  }
  void remove_variant() {
    auto& variants = random_.any(parts_.bundle.methods)->variants;
    if (!variants.empty()) variants.pop_back();
  }
  void add_method() {
    auto& methods = parts_.bundle.methods;
    if (methods.size() < 4) methods.push_back(std::make_unique<fb::MethodT>(*random_.any(methods)));
  }
  void remove_method() {
    auto& methods = parts_.bundle.methods;
    if (methods.size() > 1) methods.pop_back();
  }

  void attribute_list() {
    fb::NodeT* node = any_node();
    if (node == nullptr) return;
    for (auto* list : long_lists(&node->op)) change(list);
    for (auto* list : int_lists(&node->op)) change(list);
  }
  template <class List>
  void change(List* list) {
    if (list->empty() || random_.one_in(4))
      return list->push_back(static_cast<typename List::value_type>(small()));
    if (random_.one_in(4)) return list->pop_back();
    if (random_.one_in(2)) {
      std::swap(random_.any(*list), random_.any(*list));
    } else {
      random_.any(*list) = static_cast<typename List::value_type>(any_integer(&random_, 1));
    }
  }

  const OpTable& ops_;
  Random& random_;
  BundleParts& parts_;
  fb::MethodT* m_;
};

/// A part of the schema that the runtime checks and then refuses: it would end every run.
void add_reserved(Random* random, BundleParts* parts) {
  fb::MethodT& m = *random->any(parts->bundle.methods);
  if (m.values.empty()) return;
  fb::ValueT& v = *random->any(m.values);
  v.quantization = std::make_unique<fb::QuantizationT>();
  v.quantization->axis = static_cast<int32_t>(random->below(4)) - 1;
  v.quantization->scales.assign(random->below(4), static_cast<float>(any_real(random, 1)));
  v.quantization->zero_points.assign(random->below(4), any_integer(random, 0));
}

/// Most of the time one that has a number, of the symbols or of `earlier` terms.
fb::Term any_term(Random* random, size_t symbols, size_t earlier) {
  const bool wild = random->one_in(32);
  const size_t ops = wild ? 20 : static_cast<size_t>(fb::TermOp::MAX) + 1;
  auto op = static_cast<fb::TermOp>(random->below(ops));
  if (earlier == 0 && !wild) op = random->one_in(2) ? fb::TermOp::Integer : fb::TermOp::Symbol;
  const size_t operands = op == fb::TermOp::Symbol ? symbols : earlier;
  const auto operand = [&] {
    return static_cast<int32_t>(random->below(wild || operands == 0 ? operands + 2 : operands));
  };
  const int64_t small = 1 + static_cast<int64_t>(random->below(8));
  return fb::Term(wild ? any_integer(random, small) : small,
                  wild ? any_real(random, 1) : static_cast<double>(small), operand(), operand(),
                  op);
}

/// A patch of an extent of a reshape or an expand by what stands there, or of whatever.
void add_patch(Random* random, fb::MethodT* m) {
  if (m->nodes.empty()) return;
  const size_t node = random->below(m->nodes.size());
  fb::OpAttrsUnion& op = m->nodes[node]->op;
  const std::vector<int64_t>* shape = nullptr;
  if (op.AsReshape() != nullptr) shape = &op.AsReshape()->shape;
  if (op.AsExpand() != nullptr) shape = &op.AsExpand()->shape;
  if (shape == nullptr && !random->one_in(16)) return;
  size_t field = random->below(6), index = random->below(4), term = random->below(4);
  auto type = static_cast<fb::FieldType>(random->below(5));
  if (shape != nullptr && !shape->empty() && !random->one_in(8)) {
    field = 0;
    type = fb::FieldType::Int64;
    index = random->below(shape->size());
    term = m->terms.size();
    m->terms.push_back(fb::Term((*shape)[index++], 0, 0, 0, fb::TermOp::Integer));
  }
  m->patches.push_back(fb::Patch(static_cast<int32_t>(node), static_cast<int32_t>(field),
                                 static_cast<int32_t>(index) - 1, static_cast<int32_t>(term),
                                 type));
}

/// A symbol for the dims of one extent.
std::unique_ptr<fb::SymbolT> any_symbol(Random* random, size_t number, int64_t extent) {
  auto symbol = std::make_unique<fb::SymbolT>();
  symbol->name = random->one_in(32) ? "" : "s" + std::to_string(number);
  symbol->multiple = random->one_in(16) ? any_integer(random, 2) : 1;
  symbol->min = random->one_in(16) ? any_integer(random, 1) : random->one_in(2) ? 1 : extent;
  symbol->max = random->one_in(16) ? any_integer(random, extent)
                                   : extent + static_cast<int64_t>(random->below(9));
  return symbol;
}

/// An extent of an input that follows from the symbol of another one, right or not.
void add_extent_rule(Random* random, fb::MethodT* m) {
  if (m->symbols.empty() || m->values.empty()) return;
  fb::ValueT& v = *random->any(m->values);
  if (v.shape.empty() || (v.kind != fb::ValueKind::Input && !random->one_in(16))) return;
  if (v.symbols.size() != v.shape.size()) v.symbols.assign(v.shape.size(), -1);
  const size_t dim = random->below(v.shape.size()), symbol = random->below(m->symbols.size());
  const int64_t factor =
      random->one_in(8) ? any_integer(random, 2) : 1 + static_cast<int64_t>(random->below(3));
  const auto term = [&](fb::TermOp op, int64_t number, size_t a, size_t b) {
    m->terms.emplace_back(number, 0, static_cast<int32_t>(a), static_cast<int32_t>(b), op);
    return m->terms.size() - 1;
  };
  // Mostly one that holds for a size that fits the symbol.
  int64_t size = m->symbols[symbol]->min;
  for (const auto& other : m->values) {
    for (size_t d = 0; d < other->symbols.size() && d < other->shape.size(); ++d) {
      if (other->symbols[d] == static_cast<int32_t>(symbol)) size = other->shape[d];
    }
  }
  int64_t times = 0, offset = 0;
  if (__builtin_mul_overflow(factor, size, &times) ||
      __builtin_sub_overflow(v.shape[dim], times, &offset) || random->one_in(16))
    offset = any_integer(random, 1);
  size_t last = term(fb::TermOp::Symbol, 0, symbol, 0);
  if (factor != 1 || random->one_in(4))
    last = term(fb::TermOp::Multiply, 0, last, term(fb::TermOp::Integer, factor, 0, 0));
  if (offset != 0 || random->one_in(4))
    last = term(fb::TermOp::Add, 0, last, term(fb::TermOp::Integer, offset, 0, 0));
  v.symbols[dim] = static_cast<int32_t>(m->symbols.size() + last);
}

/// A symbol that dims of one extent are, of inputs above all; terms, and patches by them.
void add_symbol(Random* random, BundleParts* parts) {
  fb::MethodT& m = *random->any(parts->bundle.methods);
  if (m.values.empty() || m.symbols.size() > 4) return;
  const fb::ValueT& like = *random->any(m.values);
  if (like.shape.empty()) return;
  const int64_t extent = like.shape[0];
  const auto index = static_cast<int32_t>(m.symbols.size());
  m.symbols.push_back(any_symbol(random, m.symbols.size(), extent));
  if (!random->one_in(32)) m.variants.clear();
  for (auto& v : m.values) {
    const bool is_input = v->kind == fb::ValueKind::Input;
    if (is_input ? random->one_in(16) : !random->one_in(64)) continue;
    if (v->symbols.size() != v->shape.size()) v->symbols.assign(v->shape.size(), -1);
    for (size_t dim = 0; dim < v->shape.size(); ++dim) {
      if (v->shape[dim] == extent && !random->one_in(4)) v->symbols[dim] = index;
    }
  }
  for (size_t n = random->below(4); n > 0; --n)
    m.terms.push_back(any_term(random, m.symbols.size(), m.terms.size()));
  for (size_t n = random->below(3); n > 0; --n) add_patch(random, &m);
  if (random->one_in(2)) add_extent_rule(random, &m);
}

/// Whether numbers of 64 bits are where they can be read: a verifier leaves that open.
bool is_aligned(const uint8_t* data) {
  bool aligned = true;
  uint8_t* root = const_cast<uint8_t*>(data) + flatbuffers::ReadScalar<uint32_t>(data);
  test::visit_fields(root, fb::BundleTypeTable(), [&](const test::FieldAt& f) {
    const std::string name = f.path.substr(f.path.rfind('.') + 1);
    if (!f.is_vector || (test::scalar_bytes(f.type) != 8 && name != "terms")) return;
    const uint8_t* vector = f.where + flatbuffers::ReadScalar<uint32_t>(f.where);
    if (reinterpret_cast<uintptr_t>(vector + 4) % 8 != 0) aligned = false;
  });
  return aligned;
}

bool unpack(const uint8_t* data, size_t size, fb::BundleT* bundle) {
  flatbuffers::Verifier verifier(data, size, kBundleMaxDepth, 20000);
  if (!fb::VerifyBundleBuffer(verifier) || !is_aligned(data)) return false;
  *bundle = fb::BundleT();
  fb::GetBundle(data)->UnPackTo(bundle);
  return !bundle->methods.empty();
}

}  // namespace

bool read_parts(Span<const uint8_t> file, BundleParts* parts) {
  BundleProlog p;
  if (file.size() < sizeof(p)) return false;
  std::memcpy(&p, file.data(), sizeof(p));
  const auto inside = [&](uint64_t offset, uint64_t bytes) {
    return offset <= file.size() && bytes <= file.size() - offset;
  };
  if (!inside(p.metadata_offset, p.metadata_bytes) || p.metadata_offset % kBundleAlignment != 0 ||
      !inside(p.constants_offset, p.constants_bytes) ||
      !inside(p.samples_offset, p.samples_bytes) || p.constants_bytes < kBundleTailBytes)
    return false;
  if (!unpack(file.data() + p.metadata_offset, p.metadata_bytes, &parts->bundle)) return false;
  const uint8_t* constants = file.data() + p.constants_offset;
  parts->constants.assign(constants, constants + p.constants_bytes - kBundleTailBytes);
  const uint8_t* samples = file.data() + p.samples_offset;
  parts->samples.assign(samples, samples + p.samples_bytes);
  return true;
}

void edit_scalar(Random* random, BundleParts* parts) {
  flatbuffers::FlatBufferBuilder builder;
  builder.ForceDefaults(true);
  fb::FinishBundleBuffer(builder, fb::CreateBundle(builder, &parts->bundle));
  uint8_t* data = builder.GetBufferPointer();
  Scalars all = scalars_of(data + flatbuffers::ReadScalar<uint32_t>(data));
  if (all.empty()) return;
  auto path = all.begin();
  std::advance(path, static_cast<std::ptrdiff_t>(random->below(all.size())));
  const test::FieldAt& field = random->any(path->second);
  write_scalar(field.where, field.type, random);
  fb::BundleT edited;
  if (unpack(data, builder.GetSize(), &edited)) parts->bundle = std::move(edited);
}

void edit(const OpTable& ops, Random* random, BundleParts* parts) {
  for (size_t n = 1 + random->below(4); n > 0; --n) Editor(ops, random, parts).run();
}

namespace {

/// Keeps the symbols, which a repair would drop.
test::AlignedBytes mutate_sized(Random* random, BundleParts* parts) {
  if (random->one_in(4)) edit_scalar(random, parts);
  if (random->one_in(8) || !has_symbols(*parts)) return write_with_shared_parts(random, *parts);
  return write_with_wild_patches(random, parts);
}

}  // namespace

test::AlignedBytes mutate(const OpTable& ops, uint64_t seed, BundleParts* parts) {
  Random random(seed);
  if (has_symbols(*parts) && !random.one_in(4)) return mutate_sized(&random, parts);
  if (parts->bundle.producer == kWildProducer) parts->bundle.producer.clear();
  edit(ops, &random, parts);
  if (!random.one_in(64)) repair(ops, &random, parts);
  if (random.one_in(8)) edit_scalar(&random, parts);
  if (random.one_in(256)) add_reserved(&random, parts);
  if (random.one_in(8)) add_symbol(&random, parts);
  if (random.one_in(16)) return write_with_shared_parts(&random, *parts);
  return test::write_bundle(*parts);
}

}  // namespace lazyrt::fuzz
