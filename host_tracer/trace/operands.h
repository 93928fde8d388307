#pragma once

#include <variant>
#include <vector>

#include "host_tracer/trace/trace.h"

namespace lazyrt {

/// Calls fn(id) for each tensor of an argument, kNoTraceValue left out.
template <typename Fn>
void for_each_tensor(const TraceArg& arg, const Fn& fn) {
  const auto call = [&](const TensorArg& item) {
    if (item.value != kNoTraceValue) fn(item.value);
  };
  if (const auto* one = std::get_if<TensorArg>(&arg)) call(*one);
  const auto* list = std::get_if<std::vector<TensorArg>>(&arg);
  if (list == nullptr) return;
  for (const TensorArg& item : *list) call(item);
}

/// The same for each tensor operand of a call.
template <typename Fn>
void for_each_operand(const TraceNode& node, const Fn& fn) {
  for (const auto& [name, arg] : node.args) for_each_tensor(arg, fn);
}

}  // namespace lazyrt
