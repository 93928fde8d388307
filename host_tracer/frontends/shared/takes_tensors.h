#pragma once

#include <ATen/core/function_schema.h>

namespace lazyrt {

/// True when an argument is a tensor or a list of them: no factory.
inline bool takes_tensors(const c10::FunctionSchema& schema) {
  for (const c10::Argument& arg : schema.arguments()) {
    if (arg.type()->isSubtypeOf(*c10::TensorType::get()) ||
        arg.type()->isSubtypeOf(*c10::ListType::ofTensors())) {
      return true;
    }
  }
  return false;
}

}  // namespace lazyrt
