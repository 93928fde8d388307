#include "host_tracer/frontends/torchscript/script_inputs.h"

#include <ATen/ATen.h>
#include <ATen/core/Dict.h>
#include <ATen/core/jit_type.h>

#include <sstream>

#include "host_tracer/frontends/shared/given_tensor.h"
#include "host_tracer/frontends/torchscript/script_module.h"

namespace lazyrt {
namespace {

using c10::IValue;
using c10::TypeKind;

std::string number_text(const SeenNumber& number) {
  return std::visit(
      [](auto value) {
        std::ostringstream text;
        text << std::boolalpha << value;
        return text.str();
      },
      number);
}

/// Arguments that a --input can stand for.
std::string argument_text(const c10::Argument& argument) {
  std::string text = argument.name() + ": " + argument.type()->repr_str();
  if (argument.default_value()) {
    std::ostringstream value;
    value << *argument.default_value();
    text += " = " + value.str();
  }
  return text;
}

}  // namespace

ScriptInputs::ScriptInputs(const c10::FunctionSchema& forward, const std::vector<GivenInput>& given)
    : schema_(forward), given_(given), used_(given.size()) {
  const auto& arguments = forward.arguments();
  for (size_t i = 1; i < arguments.size(); ++i) arguments_.push_back(argument(arguments[i]));
  check_all_used();
}

void ScriptInputs::refuse(const std::string& why) const {
  std::string text = why + "; forward takes:";
  const auto& arguments = schema_.arguments();
  for (size_t i = 1; i < arguments.size(); ++i) text += "\n  " + argument_text(arguments[i]);
  TORCH_CHECK_VALUE(
      false, text,
      "\ngive each with --input NAME=FILE.npy or NAME=SHAPE:DTYPE (in a tuple or list "
      "NAME.0, in a dict NAME.KEY, a number as NAME=3, a bool as NAME=true)");
}

const GivenInput* ScriptInputs::find(const std::string& name) {
  for (size_t i = 0; i < given_.size(); ++i) {
    if (given_[i].name != name) continue;
    used_[i] = true;
    return &given_[i];
  }
  return nullptr;
}

bool ScriptInputs::is_given(const std::string& prefix) const {
  for (const GivenInput& input : given_) {
    if (input.name == prefix || input.name.starts_with(prefix + ".")) return true;
  }
  return false;
}

void ScriptInputs::check_all_used() const {
  for (size_t i = 0; i < given_.size(); ++i) {
    if (!used_[i]) refuse("there is no input '" + given_[i].name + "'");
  }
}

IValue ScriptInputs::argument(const c10::Argument& arg) {
  if (is_given(arg.name())) return build(arg.type(), arg.name());
  if (arg.default_value()) return *arg.default_value();
  if (arg.type()->kind() == TypeKind::OptionalType) return {};
  refuse("no value for input '" + arg.name() + "'");
}

IValue ScriptInputs::build(const c10::TypePtr& type, const std::string& name) {
  switch (type->kind()) {
    case TypeKind::OptionalType:
      return is_given(name) ? build(type->containedType(0), name) : IValue();
    case TypeKind::TensorType: {
      const GivenInput* given = find(name);
      if (!given) refuse("no value for input '" + name + "'");
      tensors_.push_back({name, given_tensor(*given)});
      return tensors_.back().tensor;
    }
    case TypeKind::ListType:
      return build_list(type->expectRef<c10::ListType>(), name);
    case TypeKind::DictType:
      return build_dict(type->expectRef<c10::DictType>(), name);
    case TypeKind::TupleType:
      return build_tuple(type->expect<c10::TupleType>(), name);
    default:
      return build_number(type, name);
  }
}

IValue ScriptInputs::build_list(const c10::ListType& type, const std::string& name) {
  c10::impl::GenericList list(type.getElementType());
  for (size_t i = 0; is_given(name + "." + std::to_string(i)); ++i) {
    list.push_back(build(type.getElementType(), name + "." + std::to_string(i)));
  }
  return list;
}

IValue ScriptInputs::build_dict(const c10::DictType& type, const std::string& name) {
  if (type.getKeyType()->kind() != TypeKind::StringType) {
    refuse("input '" + name + "' is a dict with keys that are not strings, which cannot be given");
  }
  c10::impl::GenericDict dict(type.getKeyType(), type.getValueType());
  const std::string prefix = name + ".";
  for (const GivenInput& input : given_) {
    if (!input.name.starts_with(prefix)) continue;
    const bool nested = type.getValueType()->kind() != TypeKind::TensorType;
    const size_t end = nested ? input.name.find('.', prefix.size()) : std::string::npos;
    const std::string key = input.name.substr(prefix.size(), end - prefix.size());
    if (!dict.contains(key)) dict.insert(key, build(type.getValueType(), prefix + key));
  }
  return dict;
}

IValue ScriptInputs::build_tuple(const c10::TupleTypePtr& type, const std::string& name) {
  std::vector<IValue> items;
  for (size_t i = 0; i < type->elements().size(); ++i) {
    const std::string part =
        type->schema() ? type->schema()->arguments()[i].name() : std::to_string(i);
    items.push_back(build(type->elements()[i], name + "." + part));
  }
  return type->schema() ? c10::ivalue::Tuple::createNamed(std::move(items), type)
                        : c10::ivalue::Tuple::create(std::move(items));
}

IValue ScriptInputs::build_number(const c10::TypePtr& type, const std::string& name) {
  const GivenInput* given = find(name);
  const bool number = type->kind() == TypeKind::IntType || type->kind() == TypeKind::FloatType ||
                      type->kind() == TypeKind::BoolType || type->kind() == TypeKind::NumberType;
  if (!number) {
    refuse("input '" + name + "' is of type " + type->repr_str() + ", which cannot be given");
  }
  if (!given || !given->number)
    refuse("input '" + name + "' is a number: give it as " + name + "=3");
  notes_.push_back("input '" + name + "' is fixed at " + number_text(*given->number));
  const IValue value = std::visit([](auto v) { return IValue(v); }, *given->number);
  if (type->kind() == TypeKind::FloatType && value.isInt()) {
    return static_cast<double>(value.toInt());
  }
  if (!value.type()->isSubtypeOf(*type)) {
    refuse("input '" + name + "' is of type " + type->repr_str() + ", not " +
           value.type()->repr_str());
  }
  return value;
}

std::vector<IValue> ScriptInputs::arguments(const std::vector<at::Tensor>& tensors) const {
  // Walks in the order of build(), so that the tensors are met in theirs.
  size_t next = 0;
  const auto place = [&](const at::Tensor& t) {
    // A default may be a tensor, too.
    const bool ours = next < tensors_.size() && t.is_same(tensors_[next].tensor);
    return ours ? tensors[next++] : t;
  };
  std::vector<IValue> out;
  for (const IValue& argument : arguments_) out.push_back(map_script_value(argument, place));
  return out;
}

}  // namespace lazyrt
