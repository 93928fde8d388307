#include "host_tracer/frontends/torchscript/script_module.h"

#include <ATen/ATen.h>
#include <ATen/core/Dict.h>
#include <ATen/core/jit_type.h>

#include <algorithm>
#include <bit>
#include <sstream>
#include <unordered_set>

#include "host_tracer/frontends/shared/lazy_numbers.h"

namespace lazyrt {
namespace {

using c10::IValue;
using PlaceFn = std::function<at::Tensor(const at::Tensor&)>;

/// Of a dict; None where it has no such key, or the value is no dict.
IValue item_of(const IValue& value, const IValue& key) {
  if (!value.isGenericDict()) return {};
  const auto dict = value.toGenericDict();
  const auto it = dict.find(key);
  return it == dict.end() ? IValue() : it->value();
}

IValue map_list(const IValue& value, const PlaceFn& place, MappedContainers& known) {
  const auto list = value.toList();
  c10::impl::GenericList mapped(list.elementType());
  mapped.reserve(list.size());
  for (const IValue& item : list.vec()) mapped.push_back(map_script_value(item, place, known));
  return mapped;
}

IValue map_dict(const IValue& value, const PlaceFn& place, MappedContainers& known) {
  const auto dict = value.toGenericDict();
  c10::impl::GenericDict mapped(dict.keyType(), dict.valueType());
  for (const auto& entry : dict) {
    mapped.insert(entry.key(), map_script_value(entry.value(), place, known));
  }
  return mapped;
}

IValue map_tuple(const IValue& value, const PlaceFn& place, MappedContainers& known) {
  const auto tuple = value.toTuple();
  std::vector<IValue> mapped;
  for (const IValue& item : tuple->elements()) {
    mapped.push_back(map_script_value(item, place, known));
  }
  const auto type = tuple->type();
  return type->schema() ? c10::ivalue::Tuple::createNamed(std::move(mapped), type)
                        : c10::ivalue::Tuple::create(std::move(mapped));
}

/// Why an attribute cannot be captured, or "".
std::string stranger(const IValue& value) {
  if (value.isCustomClass() || value.isCapsule()) {
    return "is of the custom class " + value.type()->repr_str();
  }
  if (value.isObject() && !value.toObject()->type()->is_module()) {
    for (const IValue& slot : value.toObject()->slots()) {
      if (slot.isCapsule()) return "is of the custom class " + value.type()->repr_str();
    }
  }
  if (!value.isTensor() || !value.toTensor().defined()) return "";
  const at::Tensor& t = value.toTensor();
  if (t.is_quantized()) return "is a quantized tensor";
  if (t.layout() != at::kStrided) return std::string("is a sparse tensor");
  return to_dtype(at::toRealValueType(t.scalar_type())) == DType::kNone
             ? std::string("has the dtype ") + c10::toString(t.scalar_type())
             : "";
}

bool same_items(c10::ArrayRef<IValue> a, c10::ArrayRef<IValue> b);

/// Keys and values in turn.
std::vector<IValue> flat_dict(const IValue& value) {
  std::vector<IValue> flat;
  for (const auto& entry : value.toGenericDict()) {
    flat.insert(flat.end(), {entry.key(), entry.value()});
  }
  return flat;
}

/// Tensors by identity, everything else by value.
bool same_value(const IValue& a, const IValue& b) {
  if (a.isTensor() || b.isTensor()) return a.isTensor() && b.isTensor() && a.is(b);
  if (a.isList() && b.isList()) return same_items(a.toListRef(), b.toListRef());
  if (a.isTuple() && b.isTuple()) {
    return same_items(a.toTupleRef().elements(), b.toTupleRef().elements());
  }
  if (a.isGenericDict() && b.isGenericDict()) {
    return same_items(flat_dict(a), flat_dict(b));
  }
  if (a.isNone() || b.isNone()) return a.isNone() && b.isNone();
  if (a.isObject() || b.isObject()) return a.isObject() && b.isObject() && a.is(b);
  if (a.isDouble() && b.isDouble()) {  // zeros have signs, and NaN is the same as NaN
    return std::bit_cast<uint64_t>(a.toDouble()) == std::bit_cast<uint64_t>(b.toDouble());
  }
  return a.equals(b).toBool();
}

bool same_items(c10::ArrayRef<IValue> a, c10::ArrayRef<IValue> b) {
  if (a.size() != b.size()) return false;
  for (size_t i = 0; i < a.size(); ++i) {
    if (!same_value(a[i], b[i])) return false;
  }
  return true;
}

/// A plain or lazy number as a lazy tensor.
at::Tensor as_number(const IValue& value) {
  return value.isTensor() ? value.toTensor() : lazyrt::lift(number_tensor(value));
}

using Pairs = std::vector<std::pair<at::Tensor, at::Tensor>>;

bool tensor_pairs(const IValue& before, const IValue& after, Pairs& pairs);

bool item_pairs(const std::vector<IValue>& before, const std::vector<IValue>& after, Pairs& pairs) {
  if (before.size() != after.size()) return false;
  for (size_t i = 0; i < before.size(); ++i) {
    if (!tensor_pairs(before[i], after[i], pairs)) return false;
  }
  return true;
}

/// The tensors of two values that differ in their tensors' contents alone; false for others.
bool tensor_pairs(const IValue& before, const IValue& after, Pairs& pairs) {
  if (before.isTensor() && after.isTensor()) {
    const at::Tensor &a = before.toTensor(), &b = after.toTensor();
    if (a.is_same(b)) return true;
    if (!a.defined() || !b.defined()) return false;
    if (a.sizes() != b.sizes() || a.scalar_type() != b.scalar_type()) return false;
    pairs.emplace_back(a, b);
    return true;
  }
  const bool lists = before.isList() && after.isList(),
             tuples = before.isTuple() && after.isTuple();
  if (lists || tuples) return item_pairs(items_of(before), items_of(after), pairs);
  if (before.isGenericDict() && after.isGenericDict()) {
    return item_pairs(flat_dict(before), flat_dict(after), pairs);
  }
  return same_value(before, after);
}

/// A tensor, list or dict of an attribute before and after a run.
struct Place {
  const std::string* name;
  const void *before, *after;  ///< memory
  bool written;                ///< in place
};

struct Places {
  std::vector<Place> tensors, containers;
};

void collect_places(const IValue& before, const IValue& after, const std::string& name,
                    Places& places) {
  const bool leaf = before.isTensor() && after.isTensor();
  if (leaf && before.toTensor().defined() && after.toTensor().defined()) {
    const at::Tensor &a = before.toTensor(), &b = after.toTensor();
    if (!a.device().is_lazy() || !b.device().is_lazy()) return;
    places.tensors.push_back({&name, memory_of(a), memory_of(b), was_written(a) || was_written(b)});
    return;
  }
  std::vector<IValue> from, to;
  const bool dicts = before.isGenericDict() && after.isGenericDict(),
             lists = before.isList() && after.isList();
  if (dicts) from = flat_dict(before), to = flat_dict(after);
  if (lists || (before.isTuple() && after.isTuple())) from = items_of(before), to = items_of(after);
  if (dicts || lists) {
    places.containers.push_back(
        {&name, before.internalToPointer(), after.internalToPointer(), true});
  }
  for (size_t i = 0; i < std::min(from.size(), to.size()); ++i) {
    collect_places(from[i], to[i], name, places);
  }
}

/// Throws where two of them became one or one became two, and a write into it shows. The names of
/// those that became one.
std::set<std::string> refuse_other_aliases(const std::vector<Place>& places, const char* one,
                                           const char* two) {
  std::set<std::string> made_one;
  const auto compare = [&](const void* Place::*same, const void* Place::*other, bool became_one) {
    std::unordered_map<const void*, const Place*> known;
    for (const Place& place : places) {
      const auto [it, is_new] = known.emplace(place.*same, &place);
      const Place& first = *it->second;
      if (is_new || first.*other == place.*other) continue;
      TORCH_CHECK(became_one && !first.written && !place.written, "forward makes the attributes '",
                  *first.name, "' and '", *place.name, "' ", became_one ? one : two,
                  ": what is written into it in place has to show in ",
                  became_one ? "both" : "one alone", "; clone() it where it is assigned");
      made_one.insert({*first.name, *place.name});
    }
  };
  compare(&Place::before, &Place::after, false);
  compare(&Place::after, &Place::before, true);
  return made_one;
}

}  // namespace

IValue call_with_hooks(const torch::jit::Module& module, std::vector<IValue> arguments,
                       const ScriptCall& call) {
  const IValue self = module._ivalue();
  const auto type = module.type();
  for (torch::jit::Function* hook : type->getForwardPreHooks()) {
    const IValue given = call(*hook, {self, c10::ivalue::Tuple::create(arguments)});
    if (given.isTuple()) {
      arguments = given.toTupleRef().elements().vec();
    } else if (!given.isNone()) {
      arguments = {given};
    }
  }
  std::vector<IValue> stack = {self};
  stack.insert(stack.end(), arguments.begin(), arguments.end());
  IValue result = call(module.get_method("forward").function(), std::move(stack));
  for (torch::jit::Function* hook : type->getForwardHooks()) {
    IValue given = call(*hook, {self, c10::ivalue::Tuple::create(arguments), result});
    if (!given.isNone()) result = std::move(given);
  }
  return result;
}

IValue map_script_value(const IValue& value, const PlaceFn& place, MappedContainers& known) {
  if (value.isTensor()) return value.toTensor().defined() ? place(value.toTensor()) : value;
  if (value.isTuple()) return map_tuple(value, place, known);
  if (!value.isList() && !value.isGenericDict()) return value;
  const void* address = value.internalToPointer();
  if (const auto found = known.find(address); found != known.end()) return found->second;
  IValue mapped = value.isList() ? map_list(value, place, known) : map_dict(value, place, known);
  known.emplace(address, mapped);
  return mapped;
}

IValue map_script_value(const IValue& value, const PlaceFn& place) {
  MappedContainers known;
  return map_script_value(value, place, known);
}

// ---------------------------------------------------------------- names

ScriptModule::ScriptModule(torch::jit::Module module, std::shared_ptr<const ScriptPhase> phase)
    : module_(std::move(module)), phase_(std::move(phase)) {
  name_objects();
  refuse_strangers();
  name_tensors();
}

void ScriptModule::name_objects() {
  for (const auto& named : module_.named_modules()) {
    paths_.emplace(named.value._ivalue().get(), named.name);  // the first name of a shared one
  }
  for (const auto& named : module_.named_attributes(/*recurse=*/true)) {
    name_objects_in(named.value, named.name);
  }
}

/// Objects of the program's own classes.
void ScriptModule::name_objects_in(const IValue& value, const std::string& path) {
  if (value.isObject() && !value.toObjectRef().type()->is_module()) {
    const c10::ivalue::Object& object = value.toObjectRef();
    if (!paths_.emplace(&object, path).second) return;
    for (size_t i = 0; i < object.type()->numAttributes(); ++i) {
      name_objects_in(object.getSlot(i), joined(path, object.type()->getAttributeName(i)));
    }
  } else if (value.isList() || value.isTuple()) {
    const auto items = items_of(value);
    for (size_t i = 0; i < items.size(); ++i) name_objects_in(items[i], item_name(path, i));
  } else if (value.isGenericDict()) {
    for (const auto& entry : value.toGenericDict()) {
      name_objects_in(entry.value(), joined(path, name_of_key(entry.key())));
    }
  }
}

void ScriptModule::refuse_strangers() const {
  std::string lines;
  for (const auto& named : module_.named_attributes(/*recurse=*/true)) {
    const std::string why = stranger(named.value);
    if (!why.empty()) lines += "\n  attribute '" + named.name + "' " + why;
  }
  TORCH_CHECK(lines.empty(), "the module has attributes that cannot be captured:", lines);
}

void ScriptModule::name_nested(const IValue& value, const std::string& name) {
  if (value.isTensor() && value.toTensor().defined()) {
    const at::Tensor& tensor = value.toTensor();
    buffers_.push_back({phase_ ? phase_->state_name(name, tensor) : name, tensor});
  } else if (value.isTuple() || (value.isList() && !value.isIntList() && !value.isDoubleList())) {
    const auto items = items_of(value);
    for (size_t i = 0; i < items.size(); ++i) name_nested(items[i], item_name(name, i));
  } else if (value.isGenericDict()) {
    for (const auto& entry : value.toGenericDict()) {
      name_nested(entry.value(), joined(name, name_of_key(entry.key())));
    }
  } else if (value.isObject() && !value.toObjectRef().type()->is_module()) {
    const c10::ivalue::Object& object = value.toObjectRef();
    const std::string* path = path_of(&object);
    if (!path || *path != name) return;  // it has another name
    for (size_t i = 0; i < object.type()->numAttributes(); ++i) {
      name_nested(object.getSlot(i), joined(name, object.type()->getAttributeName(i)));
    }
  }
}

void ScriptModule::name_tensors() {
  std::unordered_set<const void*> known;
  for (const auto& named : module_.named_parameters()) {
    parameters_.push_back({named.name, named.value.detach()});
    known.insert(named.value.unsafeGetTensorImpl());
  }
  for (const auto& named : module_.named_attributes(/*recurse=*/true)) {
    const bool parameter =
        named.value.isTensor() && known.count(named.value.toTensor().unsafeGetTensorImpl());
    if (!parameter) name_nested(named.value, named.name);
  }
  refuse_one_name();
}

/// States are known by their names, and keys of dicts may hold dots.
void ScriptModule::refuse_one_name() const {
  std::unordered_map<std::string, const void*> tensors;
  for (const NamedTensor& buffer : buffers_) {
    const void* impl = buffer.tensor.unsafeGetTensorImpl();
    TORCH_CHECK(tensors.emplace(buffer.name, impl).first->second == impl,
                "two tensors of the module get the name '", buffer.name,
                "' from the keys of its dicts: rename one of these keys");
  }
}

std::vector<std::string> ScriptModule::names_of(const at::TensorImpl* tensor) const {
  std::vector<std::string> names;
  for (const NamedTensor& buffer : buffers_) {
    if (buffer.tensor.unsafeGetTensorImpl() == tensor) names.push_back(buffer.name);
  }
  return names;
}

const std::string* ScriptModule::path_of(const c10::ivalue::Object* object) const {
  const auto it = paths_.find(object);
  return it == paths_.end() ? nullptr : &it->second;
}

void ScriptModule::visit_attributes(
    const std::function<void(const IValue&, const std::string&)>& visit) const {
  for (const auto& [object, path] : paths_) {
    for (size_t i = 0; i < object->type()->numAttributes(); ++i)
      visit(object->getSlot(i), joined(path, object->type()->getAttributeName(i)));
  }
}

// ---------------------------------------------------------------- one run

ScriptState::Slot& ScriptState::slot_of(const c10::ivalue::Object* object,
                                        const std::string& name) {
  const size_t index = object->type()->getAttributeSlot(name);
  const auto [it, is_new] = slots_.try_emplace({object, index});
  Slot& slot = it->second;
  if (!is_new) return slot;
  const std::string* path = module_.path_of(object);
  slot.name = joined(path ? *path : "", name);
  slot.type = object->type()->getAttribute(index);
  const IValue& value = object->getSlot(index);
  if (device_.is_lazy() && module_.kept_numbers().count(slot.name) && value.isScalar()) {
    const at::Tensor number = number_tensor(value);
    const ScriptPhase* phase = module_.phase();
    slot.before = add_state(phase ? phase->state_name(slot.name, number) : slot.name, number);
    slot.value = slot.before;
    return slot;
  }
  slot.before = map_script_value(value, place_, before_);
  slot.value = map_script_value(value, place_, now_);
  return slot;
}

IValue ScriptState::get(const c10::intrusive_ptr<c10::ivalue::Object>& object,
                        const std::string& name) {
  if (!module_.path_of(object.get())) return object->getAttr(name);
  Slot& slot = slot_of(object.get(), name);
  slot.read_first = slot.read_first || !slot.written;
  return slot.value;
}

void ScriptState::set(const c10::intrusive_ptr<c10::ivalue::Object>& object,
                      const std::string& name, IValue value) {
  if (!module_.path_of(object.get())) {
    object->setAttr(name, std::move(value));
    return;
  }
  Slot& slot = slot_of(object.get(), name);
  slot.written = true;
  slot.value = std::move(value);
}

bool ScriptState::holds(const at::Tensor& tensor) const {
  for (const auto& [key, slot] : slots_) {
    bool found = false;
    for (const IValue* value : {&slot.before, &slot.value}) {
      value->visit([&](const IValue& item) {
        found = found || (item.isTensor() && item.toTensor().is_same(tensor));
        return found;
      });
    }
    if (found) return true;
  }
  return false;
}

std::string ScriptState::layout() const {
  std::ostringstream text;
  std::map<const void*, size_t> memories;
  for (const auto& [key, slot] : slots_) {
    text << ';';
    slot.value.visit([&](const IValue& item) {
      if (!item.isTensor() || !item.toTensor().defined()) return false;
      const at::Tensor& t = item.toTensor();
      const auto memory = memories.emplace(t.storage().data(), memories.size()).first->second;
      text << t.sizes() << t.strides() << t.storage_offset() << '@' << memory << ' ';
      return false;
    });
  }
  return text.str();
}

void ScriptState::collect_writes(const Slot& slot, Writes& writes) {
  if (same_value(slot.value, slot.before)) return;
  if (module_.phase()) return collect_in_phase(slot, writes);
  const bool number = is_number_type(slot.type) && slot.type->kind() != c10::TypeKind::BoolType &&
                      !slot.value.isNone() && !slot.before.isNone();
  if (number && module_.kept_numbers().count(slot.name)) {
    writes.emplace_back(slot.before.toTensor(), as_number(slot.value));
    return;
  }
  if (tensor_pairs(slot.before, slot.value, writes)) return;
  if (!slot.read_first) {  // nothing of an earlier run is seen here
    only_set_.push_back(slot.name);
    return;
  }
  if (number) {
    changing_numbers_.push_back(slot.name);
    return;
  }
  changing_forms_.push_back(slot.name);
  TORCH_CHECK(false, "forward changes the attribute '", slot.name, "' from run to run, and it is ",
              slot.value.isTensor() && slot.before.isTensor() ? "a tensor whose shape changes"
                                                              : "neither a tensor nor a number");
}

/// The values go to the states that the next phase reads.
void ScriptState::collect_in_phase(const Slot& slot, Writes& writes) {
  if (module_.kept_numbers().count(slot.name)) {
    if (slot.value.isNone()) return;
    const at::Tensor before = slot.before.isTensor() ? slot.before.toTensor() : at::Tensor();
    return collect_in_phase(before, as_number(slot.value), slot.name, writes);
  }
  const bool lazy_number = is_number_type(slot.type) && slot.value.isTensor();
  if (lazy_number) {
    changing_numbers_.push_back(slot.name);
    return;
  }
  TORCH_CHECK(
      !slot.value.isObject() && module_.phase()->is_next(slot.value, slot.name),
      "forward leaves the attribute '", slot.name, "' in another form when it is captured ",
      "than when LibTorch runs it: new objects there and paths that depend on a device are ",
      "not followed");
  std::map<std::string, at::Tensor> before;
  visit_items(slot.before, slot.name, [&](const IValue& item, const std::string& path) {
    if (item.isTensor() && item.toTensor().defined()) before[path] = item.toTensor();
  });
  visit_items(slot.value, slot.name, [&](const IValue& item, const std::string& path) {
    if (item.isTensor() && item.toTensor().defined())
      collect_in_phase(before[path], item.toTensor(), path, writes);
  });
}

void ScriptState::collect_in_phase(const at::Tensor& before, const at::Tensor& after,
                                   const std::string& path, Writes& writes) {
  if (after.is_same(before)) return;
  const bool alike = before.defined() && before.sizes() == after.sizes() &&
                     before.scalar_type() == after.scalar_type();
  const auto fresh = [&] {
    return add_state(module_.phase()->state_name(path, after),
                     at::zeros(after.sizes(), at::dtype(after.scalar_type())));
  };
  writes.emplace_back(alike ? before : fresh(), after);
}

std::vector<std::string> ScriptState::read_constants() const {
  std::vector<std::string> names;
  for (const auto& [key, slot] : slots_) {
    const bool is_kept = slot.before.isTensor() || module_.kept_numbers().count(slot.name) > 0;
    if (slot.read_first && !is_kept) names.push_back(slot.name);
  }
  return names;
}

/// Names of the tensors in `file`, an attribute or what lies in it, in whose place the run has put
/// others. What the file holds in several places may have been put there from another of them.
void ScriptState::collect_set(const IValue& file, const IValue& before, const IValue& after,
                              const std::string& name, std::vector<std::string>& names) const {
  if (file.isTensor() && file.toTensor().defined()) {
    const at::TensorImpl* impl = file.toTensor().unsafeGetTensorImpl();
    const std::vector<std::string> all = module_.names_of(impl);
    const bool stays = after.isTensor() && before.toTensor().is_same(after.toTensor());
    if (stays && all.size() < 2) return;
    names.push_back(name);
    names.insert(names.end(), all.begin(), all.end());
    return;
  }
  if (file.isGenericDict()) {
    for (const auto& entry : file.toGenericDict()) {
      const IValue& key = entry.key();
      collect_set(entry.value(), item_of(before, key), item_of(after, key),
                  joined(name, name_of_key(key)), names);
    }
  } else if (file.isTuple() || file.isList()) {
    const bool alike = after.isTuple() || after.isList();
    const auto items = items_of(file), then = items_of(before),
               now = alike ? items_of(after) : std::vector<IValue>();
    for (size_t i = 0; i < items.size(); ++i) {
      collect_set(items[i], then[i], i < now.size() ? now[i] : IValue(), item_name(name, i), names);
    }
  }
}

std::vector<std::string> ScriptState::set_names() const {
  std::vector<std::string> names;
  for (const auto& [key, slot] : slots_) {
    const bool container = slot.before.isList() || slot.before.isGenericDict();
    if (!slot.written && !(writes_containers_ && container)) continue;
    const IValue& file = key.first->getSlot(key.second);
    collect_set(file, slot.before, slot.value, slot.name, names);
    const bool holds_tensors =
        file.isTensor() || file.isTuple() || file.isList() || file.isGenericDict();
    if (!holds_tensors) names.push_back(slot.name);
  }
  return names;
}

std::vector<std::string> ScriptState::read_names() const {
  std::vector<std::string> names;
  for (const auto& [key, slot] : slots_) {
    if (slot.read_first) names.push_back(slot.name);
  }
  return names;
}

std::vector<std::string> ScriptState::relaid() const {
  const auto strides_of = [](const IValue& value) {
    std::vector<std::vector<int64_t>> all;
    value.visit([&all](const IValue& item) {
      if (item.isTensor() && item.toTensor().defined() && !item.toTensor().device().is_lazy())
        all.push_back(item.toTensor().strides().vec());
      return false;
    });
    return all;
  };
  std::vector<std::string> names;
  for (const auto& [key, slot] : slots_) {
    if (strides_of(slot.before) != strides_of(slot.value)) names.push_back(slot.name);
  }
  return names;
}

/// Each attribute is a state of its own: what is written into one tensor shows in no other.
void ScriptState::refuse_new_aliases() {
  Places places;
  for (const auto& [key, slot] : slots_) {
    collect_places(slot.before, slot.value, slot.name, places);
  }
  made_one_ = refuse_other_aliases(places.tensors, "one tensor", "two tensors");
  for (const Place& place : places.tensors) {
    if (place.written) written_in_place_.insert(*place.name);
  }
  for (const auto& [key, slot] : slots_) {
    slot.value.visit([&, &name = slot.name](const IValue& item) {
      const bool overlaps = item.isTensor() && item.toTensor().defined() &&
                            item.toTensor().device().is_lazy() && overlaps_itself(item.toTensor());
      TORCH_CHECK(!overlaps || written_in_place_.count(name) == 0, "forward keeps in '", name,
                  "' a tensor with elements that share memory (expand, unfold), and writes into it "
                  "in place, which changes all of them; clone() it where it is assigned");
      if (overlaps) made_one_.insert(name);
      return false;
    });
  }
  refuse_other_aliases(places.containers, "one list or dict", "two lists or dicts");
}

void ScriptState::write_back() {
  if (!device_.is_lazy()) return;
  refuse_new_aliases();
  Writes writes;
  for (const auto& [key, slot] : slots_) collect_writes(slot, writes);
  // All values are read before the first is written: attributes may change places.
  for (auto& [where, what] : writes) what = what.clone();
  for (const auto& [where, what] : writes) where.copy_(what);
}

}  // namespace lazyrt
