#include "runtime/op/op_def.h"

#include <cstring>

namespace lazyrt {

Work work_by_size(const OpAttrs&, Span<const TensorSpec> inputs, Span<const TensorSpec> outputs) {
  Work sum;
  for (const TensorSpec& x : inputs) sum = sum + (x.present() ? volume(x.shape) : Work());
  for (const TensorSpec& y : outputs) sum = sum + volume(y.shape);
  return sum;
}

namespace {

Fault supported(const Kernel& kernel, const NodeSpec& node) {
  return kernel.supports == nullptr ? Fault() : kernel.supports(node);
}

}  // namespace

const Kernel* find_kernel(const OpEntry& op, KernelSlot slot, const NodeSpec& node, Fault* why) {
  constexpr const char* kNames[kKernelSlots] = {"reference", "cpu", "vulkan"};
  const Kernel* kernel = op.kernels[static_cast<int>(slot)];
  if (kernel == nullptr) {
    *why =
        Fault(Error::kUnsupported, "%s has no %s kernel", op.name, kNames[static_cast<int>(slot)]);
    return nullptr;
  }
  *why = supported(*kernel, node);
  if (!why->ok()) return nullptr;
  if (kernel->ways.empty()) return kernel;
  for (const Kernel& way : kernel->ways) {
    *why = supported(way, node);
    if (why->ok()) return &way;
  }
  return nullptr;
}

uint32_t OpEntry::types_of(int function) const {
  if (kept == nullptr) return UINT32_MAX;
  if (def->functions.number == nullptr) return kept->types;
  for (const KeptFunction& k : kept->functions) {
    if (k.number == function) return k.types;
  }
  return 0;
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
