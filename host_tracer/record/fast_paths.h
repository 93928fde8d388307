#pragma once

// What torch.nn's transformers compute without autograd, by operators of their own. These give
// other numbers than the modules' code at padded places, and where attention sees no key. They are
// recorded as calls that a trace may hold.

#include <ATen/core/Tensor.h>
#include <ATen/core/ivalue.h>

#include <map>
#include <string>
#include <unordered_map>
#include <vector>

namespace lazyrt {

/// A dense tensor that stands for the nested one which a transformer's encoder makes of its input
/// and a mask.
struct NestedStandIn {
  at::Tensor tensor;   ///< [N, L, width]
  at::Tensor holds;    ///< bool [N, L]: no padding
  at::Tensor aligned;  ///< bool []: all padding lies at the rows' ends, so that eager nests
};

/// The stand-ins of one run of a program, by their tensors.
using NestedStandIns = std::unordered_map<const c10::TensorImpl*, NestedStandIn>;

/// The results of a call with these arguments. Throws c10::Error where the program itself makes a
/// nested tensor.
using FastPath = std::vector<c10::IValue> (*)(NestedStandIns&, const std::vector<c10::IValue>&);

/// By the operators' names without "aten::". They take functional tensors.
const std::map<std::string, FastPath>& fast_paths();

}  // namespace lazyrt
