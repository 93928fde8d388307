#include "host_tracer/frontends/shared/join_interfaces.h"

#include <algorithm>
#include <nlohmann/json.hpp>

namespace lazyrt {
namespace {

using InterfaceJson = nlohmann::ordered_json;

/// The nesting without the numbers in it.
InterfaceJson without_numbers(InterfaceJson item) {
  for (auto& [key, value] : item.items()) {
    if (value.is_structured()) value = without_numbers(value);
    if (key == "value" && value.is_number()) value = 0;
  }
  return item;
}

bool same_nesting(const InterfaceJson& a, const InterfaceJson& b) {
  return without_numbers(a.at("parameters")) == without_numbers(b.at("parameters")) &&
         without_numbers(a.at("result")) == without_numbers(b.at("result"));
}

}  // namespace

bool join_interfaces(const std::string& other, std::string* interface) {
  if (other.empty()) return true;
  if (interface->empty()) {
    *interface = other;
    return true;
  }
  InterfaceJson all = InterfaceJson::parse(*interface);
  const InterfaceJson more = InterfaceJson::parse(other);
  if (!same_nesting(all, more)) return false;
  bool added = false;
  for (const auto& [key, names] : more.items()) {
    if (key == "version" || key == "parameters" || key == "result") continue;
    if (names.is_boolean() && !all.contains(key)) {
      all[key] = names;
      added = true;
    }
    if (!names.is_array()) continue;
    for (const InterfaceJson& name : names) {
      InterfaceJson& known = all[key];
      if (std::find(known.begin(), known.end(), name) != known.end()) continue;
      known.push_back(name);
      added = true;
    }
  }
  if (added) *interface = all.dump(-1, ' ', true, InterfaceJson::error_handler_t::replace);
  return true;
}

}  // namespace lazyrt
