#pragma once

// Arguments of ATen calls: the dispatcher's IValues to and from the trace's TraceArgs.

#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/stack.h>

#include <functional>
#include <optional>
#include <string>

#include "host_tracer/trace/trace.h"

namespace lazyrt {

/// "max" of aten::max.dim; nothing of an operator of another namespace.
std::optional<std::string> aten_name(const c10::OperatorHandle& op);

/// Replaces every defined tensor in an IValue (a tensor, a list of tensors, a list of optional
/// tensors).
void map_tensors(c10::IValue& value, const std::function<at::Tensor(const at::Tensor&)>& fn);

/// Turns lists of tensors on the stack into lists of optional ones if the operator requires these:
/// TorchScript passes either.
void give_optional_tensors(const c10::OperatorHandle& op, torch::jit::Stack* stack);

/// Gives a tensor operand its id; called for defined tensors only.
using TensorToId = std::function<TraceValueId(const at::Tensor&)>;

/// The argument's value as a TraceArg. Throws when the trace has no form for it (complex numbers,
/// symbolic sizes, generators), naming operator and argument.
TraceArg to_trace_arg(const c10::OperatorHandle& op, const c10::Argument& arg,
                      const c10::IValue& value, const TensorToId& id_of);

/// The tensor of an id; never asked for kNoTraceValue.
using IdToTensor = std::function<at::Tensor(TraceValueId)>;

/// The IValue for an argument of that schema type; tensors through `tensor_of`. A device becomes
/// the CPU. Throws when value and type do not fit.
c10::IValue to_ivalue(const c10::Argument& arg, const TraceArg& value, const IdToTensor& tensor_of);

}  // namespace lazyrt
