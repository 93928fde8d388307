#pragma once

#include "runtime/op/op_def.h"

namespace lazyrt {

/// Returns the work of a node of this operator: by its work rule, or by size if it has none.
/// REQUIRES: `infer` accepted the operands and results.
inline Work work_of_node(const OpDef& def, const OpAttrs& attrs, Span<const TensorSpec> inputs,
                         Span<const TensorSpec> outputs) {
  const auto rule = def.work == nullptr ? work_by_size : def.work;
  return rule(attrs, inputs, outputs);
}

}  // namespace lazyrt
