#include "runtime/op/op_def.h"

#include <cstring>

namespace lazyrt {

Work work_by_size(const OpAttrs&, Span<const TensorSpec> inputs, Span<const TensorSpec> outputs) {
  Work sum;
  for (const TensorSpec& x : inputs) sum = sum + (x.present() ? volume(x.shape) : Work());
  for (const TensorSpec& y : outputs) sum = sum + volume(y.shape);
  return sum;
}

const OpEntry* OpTable::find(const OpAttrs& attrs) const {
  if (attrs.kind == fb::OpAttrs::CustomOp) {
    const auto& op = attrs.as<fb::CustomOp>();
    for (const CustomOpEntry& c : custom) {
      if (op.name() != nullptr && c.version == op.version() &&
          std::strcmp(c.name, op.name()->c_str()) == 0) {
        return &c.entry;
      }
    }
    return nullptr;
  }
  const auto i = static_cast<size_t>(attrs.kind);
  if (i >= builtin.size() || builtin[i].def == nullptr) return nullptr;
  return &builtin[i];
}

}  // namespace lazyrt
