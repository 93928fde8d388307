#pragma once

// Serialized arguments of exported nodes as the dispatcher's values.

#include <ATen/core/function_schema.h>
#include <ATen/core/ivalue.h>
#include <torch/csrc/utils/generated_serialization_types.h>

#include <string>
#include <unordered_map>

namespace lazyrt {

/// Values by the names that a graph gives them: tensors, numbers, None.
class Pt2Values {
 public:
  void set(const std::string& name, c10::IValue value) { values_[name] = std::move(value); }
  void erase(const std::string& name) { values_.erase(name); }
  /// Throws when the name is unknown.
  const c10::IValue& get(const std::string& name) const;

  /// The argument's value, without regard to a schema. Throws naming kinds that have none.
  c10::IValue value_of(const torch::_export::Argument& arg) const;

  /// The value in the form that the schema's argument wants: numbers as doubles or as 0-dim
  /// tensors, lists of their element type, None for absent tensors. Devices become `device`.
  c10::IValue value_for(const c10::Argument& schema, const torch::_export::Argument& arg,
                        at::Device device) const;

 private:
  std::unordered_map<std::string, c10::IValue> values_;
};

/// The names that an argument refers to (tensors and symbolic numbers), appended.
void append_names(const torch::_export::Argument& arg, std::vector<std::string>& names);

}  // namespace lazyrt
