#pragma once

// A captured call, done by LibTorch's own kernels on the CPU.

#include <ATen/core/Tensor.h>

#include <string>
#include <vector>

#include "host_tracer/record/capture_node.h"
#include "host_tracer/record/op_args.h"

namespace lazyrt {

/// Calls the operator on CPU tensors; `tensor_of` gives the operands by the ids in `args`. Results
/// are flattened, undefined ones among them; those that are no tensors are left out. Throws
/// c10::Error.
std::vector<at::Tensor> call_eagerly(const std::string& op, const std::string& overload,
                                     const OpArgs& args, const IdToTensor& tensor_of);

}  // namespace lazyrt
