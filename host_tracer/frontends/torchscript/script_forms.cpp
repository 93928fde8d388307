#include "host_tracer/frontends/torchscript/script_forms.h"

#include <ATen/ATen.h>

#include <bit>
#include <sstream>

namespace lazyrt {

using c10::IValue;

std::string joined(const std::string& path, const std::string& name) {
  return path.empty() ? name : path + "." + name;
}

std::string item_name(const std::string& path, size_t index) {
  return path + "." + std::to_string(index);
}

std::string name_of_key(const IValue& key) {
  return key.isString() ? key.toStringRef() : c10::str(key);
}

std::vector<IValue> items_of(const IValue& value) {
  return value.isTuple() ? value.toTupleRef().elements().vec() : value.toList().vec();
}

void visit_items(const IValue& value, const std::string& path,
                 const std::function<void(const IValue&, const std::string&)>& visit) {
  visit(value, path);
  if (value.isTuple() || value.isList()) {
    const auto items = items_of(value);
    for (size_t i = 0; i < items.size(); ++i) visit_items(items[i], item_name(path, i), visit);
  } else if (value.isGenericDict()) {
    for (const auto& entry : value.toGenericDict())
      visit_items(entry.value(), joined(path, name_of_key(entry.key())), visit);
  }
}

at::Tensor number_tensor(const IValue& value) {
  const at::Scalar number = value.toScalar();
  return at::scalar_tensor(number, number.type());
}

std::string type_of(const at::Tensor& tensor) {
  std::ostringstream text;
  text << c10::getDtypeNames(tensor.scalar_type()).first << '[';
  for (int64_t i = 0; i < tensor.dim(); ++i) text << (i > 0 ? ", " : "") << tensor.size(i);
  text << ']';
  return text.str();
}

namespace {

/// The same for values that programs cannot tell apart.
std::string text_of(const IValue& value) {
  if (value.isTensor()) return value.toTensor().defined() ? type_of(value.toTensor()) : "no tensor";
  if (value.isList()) return "a list of " + std::to_string(value.toListRef().size());
  if (value.isTuple()) return "a tuple of " + std::to_string(value.toTupleRef().elements().size());
  if (value.isObject()) return "an object";
  if (value.isDouble()) {  // zeros have signs
    const double number = value.toDouble();
    return c10::str(number, ", bits ", std::bit_cast<uint64_t>(number));
  }
  if (!value.isGenericDict()) return c10::str(value.tagKind(), " ", value);
  std::string text = "a dict of";
  for (const auto& entry : value.toGenericDict()) text += " " + c10::str(entry.key());
  return text;
}

}  // namespace

void add_form(const IValue& value, const std::string& path, ScriptForm& form) {
  visit_items(value, path, [&](const IValue& item, const std::string& at) {
    ScriptPart part{text_of(item), ""};
    if (item.isTensor() && item.toTensor().defined()) part.type = part.text;
    if (at == path && item.isInt()) part.type = "int64[]";
    if (at == path && item.isDouble()) part.type = "float64[]";
    form[at] = std::move(part);
  });
}

std::string ScriptPhase::state_name(const std::string& path, const at::Tensor& tensor) const {
  const std::string type = type_of(tensor);
  const auto first = types.find(path);
  return first == types.end() || first->second == type ? path : path + ":" + type;
}

bool ScriptPhase::is_next(const IValue& value, const std::string& path) const {
  ScriptForm now;
  add_form(value, path, now);
  size_t wanted = 0;
  for (const auto& [at, part] : next) wanted += at == path || at.starts_with(path + ".") ? 1 : 0;
  for (const auto& [at, part] : now) {
    const auto found = next.find(at);
    if (found == next.end() || found->second.text != part.text) return false;
  }
  return wanted == now.size();
}

}  // namespace lazyrt
