#pragma once

// What attributes hold beside the contents of tensors: their form. Two calls that find one form run
// the same trace.

#include <ATen/core/ivalue.h>

#include <functional>
#include <map>
#include <string>
#include <vector>

namespace lazyrt {

/// Paths: "encoder.cache", of an item "encoder.cache.0", of a dict's "encoder.cache.key".
std::string joined(const std::string& path, const std::string& name);
std::string item_name(const std::string& path, size_t index);
std::string name_of_key(const c10::IValue& key);
/// Of a list or tuple.
std::vector<c10::IValue> items_of(const c10::IValue& value);

/// Calls `visit` with an attribute's value and with all that lies in its lists, tuples and dicts.
void visit_items(
    const c10::IValue& value, const std::string& path,
    const std::function<void(const c10::IValue& value, const std::string& path)>& visit);

/// The form at one path.
struct ScriptPart {
  std::string text;  ///< a plain value, a tensor's type, a list's length, a dict's keys
  std::string type;  ///< "float32[2, 1, 128]": of tensors, and of numbers that may become states
  bool is_number() const { return !type.empty() && text != type; }
};
using ScriptForm = std::map<std::string, ScriptPart>;

/// "float32[2, 1, 128]", as Python writes it.
std::string type_of(const at::Tensor& tensor);

/// A plain number as a tensor of no dims.
at::Tensor number_tensor(const c10::IValue& number);

/// Adds the form of an attribute. Attributes of an object have paths of their own.
void add_form(const c10::IValue& value, const std::string& path, ScriptForm& form);

/// What is known of a module's attributes before and after one of its calls.
struct ScriptPhase {
  std::map<std::string, std::string> types;  ///< by path: of the state that is named by the path
  ScriptForm next;                           ///< after the call

  /// The path, with the type if another type of state has the path as its name.
  std::string state_name(const std::string& path, const at::Tensor& tensor) const;
  /// Whether the call has left the attribute as it should.
  bool is_next(const c10::IValue& value, const std::string& path) const;
};

}  // namespace lazyrt
