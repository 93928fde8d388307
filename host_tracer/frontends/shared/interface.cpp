#include "host_tracer/frontends/shared/interface.h"

#include <ATen/core/Dict.h>
#include <ATen/core/jit_type.h>

#include <nlohmann/json.hpp>

namespace lazyrt {
namespace {

using Json = nlohmann::ordered_json;

Json describe(const c10::IValue& value, const std::string& name);

Json describe_tuple(const c10::IValue& value, const std::string& name) {
  const auto tuple = value.toTuple();
  const auto type = tuple->type();
  Json items = Json::array(), keys = Json::array();
  for (size_t i = 0; i < tuple->size(); ++i) {
    const std::string key =
        type->schema() ? type->schema()->arguments()[i].name() : std::to_string(i);
    keys.push_back(key);
    items.push_back(describe(tuple->elements()[i], name + "." + key));
  }
  if (!type->schema()) return {{"kind", "tuple"}, {"items", items}};
  return {{"kind", "object"},
          {"type", type->name() ? type->name()->name() : "NamedTuple"},
          {"keys", keys},
          {"items", items},
          {"absent", Json::array()}};
}

Json describe_list(const c10::IValue& value, const std::string& name) {
  Json items = Json::array();
  size_t index = 0;
  for (const c10::IValue& item : value.toListRef()) {
    items.push_back(describe(item, name + "." + std::to_string(index++)));
  }
  return {{"kind", "list"}, {"items", items}};
}

Json describe_dict(const c10::IValue& value, const std::string& name) {
  Json items = Json::array(), keys = Json::array();
  for (const auto& entry : value.toGenericDict()) {
    const bool text = entry.key().isString();
    keys.push_back(text ? Json(entry.key().toStringRef()) : Json(entry.key().toInt()));
    const std::string key = text ? entry.key().toStringRef() : std::to_string(entry.key().toInt());
    items.push_back(describe(entry.value(), name + "." + key));
  }
  return {{"kind", "dict"}, {"keys", keys}, {"items", items}};
}

Json describe(const c10::IValue& value, const std::string& name) {
  if (value.isTensor()) return {{"kind", "tensor"}, {"name", name}};
  if (value.isTuple()) return describe_tuple(value, name);
  if (value.isList()) return describe_list(value, name);
  if (value.isGenericDict()) return describe_dict(value, name);
  Json described = {{"kind", "value"}, {"value", nullptr}};
  if (value.isBool()) described["value"] = value.toBool();
  if (value.isInt()) described["value"] = value.toInt();
  if (value.isDouble()) described["value"] = value.toDouble();
  if (value.isString()) described["value"] = value.toStringRef();
  return described;
}

}  // namespace

std::string interface_json(const c10::FunctionSchema& method,
                           const std::vector<c10::IValue>& arguments, const c10::IValue& result) {
  Json described = Json::array();
  for (size_t i = 0; i < arguments.size(); ++i) {
    const std::string& name = method.arguments()[i + 1].name();
    described.push_back({name, describe(arguments[i], name)});
  }
  const Json all = {{"version", 1},
                    {"arguments", described},
                    {"positional", arguments.size()},
                    {"result", describe(result, "out")}};
  return all.dump(-1, ' ', /*ensure_ascii=*/true, Json::error_handler_t::replace);
}

}  // namespace lazyrt
