#include "host_tracer/frontends/shared/interface.h"

#include <ATen/core/Dict.h>
#include <ATen/core/jit_type.h>

#include <algorithm>
#include <cmath>
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
          {"items", items}};
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

Json describe_double(double value) {
  if (std::isfinite(value)) return {{"kind", "value"}, {"value", value}};
  const char* text = std::isnan(value) ? "nan" : value > 0 ? "inf" : "-inf";
  return {{"kind", "fixed"}, {"type", "float"}, {"text", text}};
}

Json describe(const c10::IValue& value, const std::string& name) {
  if (value.isTensor()) return {{"kind", "tensor"}, {"name", name}};
  if (value.isTuple()) return describe_tuple(value, name);
  if (value.isList()) return describe_list(value, name);
  if (value.isGenericDict()) return describe_dict(value, name);
  Json described = {{"kind", "value"}, {"value", nullptr}};
  if (value.isBool()) described["value"] = value.toBool();
  if (value.isInt()) described["value"] = value.toInt();
  if (value.isDouble()) return describe_double(value.toDouble());
  if (value.isString()) described["value"] = value.toStringRef();
  return described;
}

/// Numbers of a result are literals of the bundle, which each variant has its own values of.
void name_numbers(Json& described, const std::string& name) {
  if (described.contains("value") &&
      (described["value"].is_number() || described["value"].is_boolean())) {
    described["name"] = name;
  }
  if (!described.contains("items")) return;
  for (size_t i = 0; i < described["items"].size(); ++i) {
    const Json key = described.contains("keys") ? described["keys"][i] : Json(i);
    name_numbers(described["items"][i],
                 name + "." + (key.is_string() ? key.get<std::string>() : key.dump()));
  }
}

bool holds_tensor(const c10::IValue& value) {
  bool found = false;
  value.visit([&](const c10::IValue& item) {
    found = found || item.isTensor();
    return found;
  });
  return found;
}

/// What stands in for an argument that a call leaves out; a tensor can only be left out.
Json describe_default(const c10::IValue& value, const std::string& name) {
  return holds_tensor(value) ? Json{{"kind", "default"}} : describe(value, name);
}

Json describe_parameter(const c10::Argument& parameter, const c10::IValue& value) {
  const auto& standard = parameter.default_value();
  Json described = {{"name", parameter.name()},
                    {"kind", parameter.kwarg_only() ? "keyword" : "either"}};
  if (standard) described["default"] = describe_default(*standard, parameter.name());
  const bool is_default = standard && holds_tensor(value) && value.is(*standard);
  described["item"] = is_default ? described["default"] : describe(value, parameter.name());
  return described;
}

std::string text_of(const Json& interface) {
  return interface.dump(-1, ' ', /*ensure_ascii=*/true, Json::error_handler_t::replace);
}

}  // namespace

std::string interface_json(const c10::FunctionSchema& method,
                           const std::vector<c10::IValue>& arguments, const c10::IValue& result) {
  Json described = Json::array();
  for (size_t i = 0; i < arguments.size(); ++i) {
    described.push_back(describe_parameter(method.arguments()[i + 1], arguments[i]));
  }
  Json results = describe(result, "out");
  name_numbers(results, "out");
  return text_of({{"version", 2}, {"parameters", described}, {"result", std::move(results)}});
}

std::string flat_interface_json(const std::vector<std::string>& inputs,
                                const std::vector<TraceOutput>& outputs) {
  Json parameters = Json::array(), results = Json::array();
  for (const std::string& name : inputs) {
    parameters.push_back(
        {{"name", name}, {"kind", "either"}, {"item", describe(at::Tensor(), name)}});
  }
  for (const TraceOutput& output : outputs) {
    const auto value = [](auto number) { return c10::IValue(number); };
    Json item =
        describe(output.literal ? std::visit(value, *output.literal) : at::Tensor(), output.name);
    name_numbers(item, output.name);
    results.push_back(std::move(item));
  }
  Json result = results.size() == 1 ? results[0] : Json{{"kind", "tuple"}, {"items", results}};
  return text_of({{"version", 2}, {"parameters", parameters}, {"result", std::move(result)}});
}

void add_demands(const InputDemands& demands, std::string* interface) {
  Json all = Json::parse(*interface);
  const auto add = [&](const char* key, const std::vector<std::string>& names) {
    if (names.empty()) return;
    Json& list = all[key];
    for (const std::string& name : names) {
      if (std::find(list.begin(), list.end(), name) == list.end()) list.push_back(name);
    }
  };
  add("contiguous", demands.contiguous);
  add("strides", demands.strides);
  add("whole", demands.whole);
  add("detached", demands.detached);
  add("distinct", demands.distinct);
  add("plain", demands.plain);
  add("written", demands.written);
  if (demands.no_grad) all["no_grad"] = true;
  *interface = text_of(all);
}

}  // namespace lazyrt
