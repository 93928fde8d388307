#include "host_tracer/frontends/torchscript/script_module.h"

#include <ATen/ATen.h>
#include <ATen/core/Dict.h>
#include <ATen/core/jit_type.h>

#include <unordered_set>

namespace lazyrt {
namespace {

using c10::IValue;
using PlaceFn = std::function<at::Tensor(const at::Tensor&)>;

std::string joined(const std::string& path, const std::string& name) {
  return path.empty() ? name : path + "." + name;
}

IValue map_list(const IValue& value, const PlaceFn& place, at::Device device) {
  const auto list = value.toList();
  c10::impl::GenericList mapped(list.elementType());
  mapped.reserve(list.size());
  for (const IValue& item : list.vec()) mapped.push_back(map_script_value(item, place, device));
  return mapped;
}

IValue map_dict(const IValue& value, const PlaceFn& place, at::Device device) {
  const auto dict = value.toGenericDict();
  c10::impl::GenericDict mapped(dict.keyType(), dict.valueType());
  for (const auto& entry : dict) {
    mapped.insert(entry.key(), map_script_value(entry.value(), place, device));
  }
  return mapped;
}

IValue map_tuple(const IValue& value, const PlaceFn& place, at::Device device) {
  const auto tuple = value.toTuple();
  std::vector<IValue> mapped;
  for (const IValue& item : tuple->elements()) {
    mapped.push_back(map_script_value(item, place, device));
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
  return to_dtype(t.scalar_type()) == DType::kNone
             ? std::string("has the dtype ") + c10::toString(t.scalar_type())
             : "";
}

bool same_items(c10::ArrayRef<IValue> a, c10::ArrayRef<IValue> b);

/// Tensors by identity, everything else by value.
bool same_value(const IValue& a, const IValue& b) {
  if (a.isTensor() || b.isTensor()) return a.isTensor() && b.isTensor() && a.is(b);
  if (a.isList() && b.isList()) return same_items(a.toListRef(), b.toListRef());
  if (a.isTuple() && b.isTuple()) {
    return same_items(a.toTupleRef().elements(), b.toTupleRef().elements());
  }
  if (a.isGenericDict() && b.isGenericDict()) {
    std::vector<IValue> flat_a, flat_b;
    for (const auto& entry : a.toGenericDict())
      flat_a.insert(flat_a.end(), {entry.key(), entry.value()});
    for (const auto& entry : b.toGenericDict())
      flat_b.insert(flat_b.end(), {entry.key(), entry.value()});
    return same_items(flat_a, flat_b);
  }
  if (a.isNone() || b.isNone()) return a.isNone() && b.isNone();
  return a.equals(b).toBool();
}

bool same_items(c10::ArrayRef<IValue> a, c10::ArrayRef<IValue> b) {
  if (a.size() != b.size()) return false;
  for (size_t i = 0; i < a.size(); ++i) {
    if (!same_value(a[i], b[i])) return false;
  }
  return true;
}

}  // namespace

IValue map_script_value(const IValue& value, const PlaceFn& place, at::Device device) {
  if (value.isTensor()) return value.toTensor().defined() ? place(value.toTensor()) : value;
  if (value.isDevice()) return device;
  if (value.isIntList() || value.isDoubleList() || value.isBoolList()) return value.deepcopy();
  if (value.isList()) return map_list(value, place, device);
  if (value.isGenericDict()) return map_dict(value, place, device);
  if (value.isTuple()) return map_tuple(value, place, device);
  return value;
}

// ---------------------------------------------------------------- names

ScriptModule::ScriptModule(torch::jit::Module module) : module_(std::move(module)) {
  name_submodules();
  refuse_strangers();
  name_tensors();
}

void ScriptModule::name_submodules() {
  for (const auto& named : module_.named_modules()) {
    paths_.emplace(named.value._ivalue().get(), named.name);  // the first name of a shared one
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
    buffers_.push_back({name, value.toTensor()});
  } else if (value.isTuple() || (value.isList() && !value.isIntList() && !value.isDoubleList())) {
    const auto items = value.isTuple() ? value.toTupleRef().elements().vec() : value.toList().vec();
    for (size_t i = 0; i < items.size(); ++i) name_nested(items[i], name + "." + std::to_string(i));
  }
}

void ScriptModule::name_tensors() {
  std::unordered_set<const void*> known;
  for (const auto& named : module_.named_parameters()) {
    parameters_.push_back({named.name, named.value.detach()});
    known.insert(named.value.unsafeGetTensorImpl());
  }
  for (const auto& named : module_.named_attributes(/*recurse=*/true)) {
    if (named.value.isObject()) continue;
    const bool parameter =
        named.value.isTensor() && known.count(named.value.toTensor().unsafeGetTensorImpl());
    if (!parameter) name_nested(named.value, named.name);
  }
}

const std::string* ScriptModule::path_of(const c10::ivalue::Object* object) const {
  const auto it = paths_.find(object);
  return it == paths_.end() ? nullptr : &it->second;
}

// ---------------------------------------------------------------- one run

ScriptState::Slot& ScriptState::slot_of(const c10::ivalue::Object* object,
                                        const std::string& name) {
  const size_t index = object->type()->getAttributeSlot(name);
  const auto [it, is_new] = slots_.try_emplace({object, index});
  Slot& slot = it->second;
  if (!is_new) return slot;
  slot.before = map_script_value(object->getSlot(index), place_, at::kCPU);
  slot.value = map_script_value(object->getSlot(index), place_, at::kCPU);
  const std::string* path = module_.path_of(object);
  slot.name = joined(path ? *path : "", name);
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

void ScriptState::write_back(const Slot& slot) const {
  if (same_value(slot.value, slot.before)) return;
  const bool tensors = slot.value.isTensor() && slot.before.isTensor();
  if (tensors && slot.value.toTensor().sizes() == slot.before.toTensor().sizes()) {
    slot.before.toTensor().copy_(slot.value.toTensor());
    return;
  }
  // Written before it is ever read: nothing of an earlier run is seen.
  if (!slot.read_first) return;
  TORCH_CHECK(false, "forward changes the attribute '", slot.name, "' from run to run, and it is ",
              tensors ? "a tensor whose shape changes" : "no tensor",
              "; keep it in a registered buffer of fixed shape, or return it and pass it back in");
}

void ScriptState::write_back() {
  for (const auto& [key, slot] : slots_) write_back(slot);
}

}  // namespace lazyrt
