#pragma once

// How arguments and results are nested, as JSON beside the program in the bundle: lazyrt.load()
// takes and gives them so.

#include <ATen/core/function_schema.h>
#include <ATen/core/ivalue.h>

#include <string>
#include <vector>

#include "host_tracer/trace/trace.h"

namespace lazyrt {

/// The bundle's info entry that holds it.
constexpr char kInterfaceKey[] = "lazyrt.interface";

/// {"version", "parameters": [{"name", "kind", "item", "default"}], "result"}, as
/// python/lazyrt/bundles/contract.py explains them, for a method called with
/// `arguments` (without self), whose tensors are named as by flatten_outputs(argument, its name),
/// and its `result`, named from "out".
std::string interface_json(const c10::FunctionSchema& method,
                           const std::vector<c10::IValue>& arguments, const c10::IValue& result);

/// The same of a program that takes its inputs one by one and gives `outputs`, whose names differ,
/// as a tuple, or the only one by itself.
std::string flat_interface_json(const std::vector<std::string>& inputs,
                                const std::vector<TraceOutput>& outputs);

/// Names of inputs of which a call has to be as python/lazyrt/bundles/contract.py explains these
/// words, since the program asks how its inputs lie in memory, or writes into them; and what it
/// asks of the process.
struct InputDemands {
  std::vector<std::string> contiguous, strides, whole, detached, distinct, plain, written;
  bool no_grad = false;
};

/// Adds them to an interface.
void add_demands(const InputDemands& demands, std::string* interface);

}  // namespace lazyrt
