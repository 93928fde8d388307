#pragma once

// How arguments and results are nested, as JSON beside the program in the bundle: lazyrt.load()
// takes and gives them so.

#include <ATen/core/function_schema.h>
#include <ATen/core/ivalue.h>

#include <string>
#include <vector>

namespace lazyrt {

/// The bundle's info entry that holds it.
constexpr char kInterfaceKey[] = "lazyrt.interface";

/// {"version", "parameters": [{"name", "kind", "item", "default"}], "result"}, as
/// python/lazyrt/contract.py explains them, for a method called with
/// `arguments` (without self), whose tensors are named as by flatten_outputs(argument, its name),
/// and its `result`, named from "out".
std::string interface_json(const c10::FunctionSchema& method,
                           const std::vector<c10::IValue>& arguments, const c10::IValue& result);

}  // namespace lazyrt
