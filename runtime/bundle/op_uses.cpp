#include "lazyrt/op_uses.h"

#include "runtime/bundle/reader.h"
#include "runtime/bundle/variant_sizes.h"

namespace lazyrt {
namespace {

struct Listing {
  const OpTable& ops;
  OpUseHook hook;
  void* context;

  Fault operands(const fb::Method& method, const flatbuffers::Vector<int32_t>* ids,
                 uint32_t* types) const {
    for (const int32_t id : ints_of(ids)) {
      if (id < 0) continue;
      if (static_cast<size_t>(id) >= count_of(method.values())) {
        return Fault(Error::kInvalidBundle, "there is no value %d", id);
      }
      const DType type = dtype_of(value_at(method, id).dtype());
      if (dtype_size(type) == 0) {
        return Fault(Error::kInvalidBundle, "value %d has no known type", id);
      }
      *types |= uint32_t{1} << static_cast<unsigned>(type);
    }
    return {};
  }

  Fault function(const OpEntry& op, const OpAttrs& attrs, const char** name) const {
    const OpFunctions& functions = op.def->functions;
    if (functions.number == nullptr) return {};
    const int wanted = functions.number(attrs);
    const char* const* names = functions.names();
    int known = 0;
    while (names[known] != nullptr && known != wanted) ++known;
    *name = names[known];
    if (*name != nullptr) return {};
    return Fault(Error::kUnsupported, "%s has no function %d", op.name, wanted);
  }

  void fill_source(const fb::Method& method, const fb::Node& node, OpUse* use) const {
    const int32_t source = node.source();
    if (source < 0 || static_cast<size_t>(source) >= count_of(method.sources())) return;
    const fb::Source& s = source_at(method, source);
    use->aten = text_of(s.aten());
    use->module_path = text_of(s.module_path());
    use->file = text_of(s.file());
    use->line = s.line();
  }

  Fault node(const fb::Method& method, const fb::Node& node, OpUse* use) const {
    if (node.op() == nullptr) return Fault(Error::kInvalidBundle, "it has no operator");
    fill_source(method, node, use);
    if (node.op_type() == fb::OpAttrs::CustomOp) {
      use->custom = true;
      use->op = text_of(node.op_as_CustomOp()->name());
    } else {
      const OpEntry* op = ops.find(attrs_of(node));
      if (op == nullptr) {
        return Fault(Error::kUnsupported, "operator number %d is not known",
                     static_cast<int>(node.op_type()));
      }
      use->op = op->name;
      LAZYRT_RETURN_IF_ERROR(function(*op, attrs_of(node), &use->function));
    }
    LAZYRT_RETURN_IF_ERROR(operands(method, node.inputs(), &use->types));
    LAZYRT_RETURN_IF_ERROR(operands(method, node.outputs(), &use->types));
    hook(context, *use);
    return {};
  }

  Fault nodes(const fb::Method& method, size_t variant) const {
    for (uint32_t i = 0; i < count_of(method.nodes()); ++i) {
      OpUse use;
      use.method = text_of(method.name());
      use.variant = variant;
      use.node = i;
      LAZYRT_RETURN_IF_ERROR(node(method, node_at(method, i), &use)
                                 .with_context("method '%.30s', variant %zu, node %u", use.method,
                                               variant, static_cast<unsigned>(i)));
    }
    return {};
  }
};

}  // namespace

Status list_part_uses(Span<const uint8_t> bytes, PartUses* uses) {
  BundleSections sections;
  LAZYRT_RETURN_IF_ERROR(read_sections(bytes, false, &sections));
  const auto* methods = sections.bundle->methods();
  for (uint32_t i = 0; i < count_of(methods); ++i) {
    const fb::Method& method = *methods->Get(i);
    uses->variants = uses->variants || variants_of(method) > 1;
    for (size_t v = 0; v < variants_of(method); ++v) {
      const fb::Method& variant = variant_of(method, v);
      uses->guards = uses->guards || count_of(variant.guards()) != 0;
      uses->states = uses->states || count_of(variant.states()) != 0;
    }
  }
  return {};
}

Status list_op_uses(Span<const uint8_t> bytes, const OpTable& ops, OpUseHook hook, void* context) {
  BundleSections sections;
  LAZYRT_RETURN_IF_ERROR(read_sections(bytes, false, &sections));
  const Listing listing = {ops, hook, context};
  const auto* methods = sections.bundle->methods();
  for (uint32_t i = 0; i < count_of(methods); ++i) {
    const fb::Method& method = *methods->Get(i);
    for (size_t v = 0; v < variants_of(method); ++v) {
      LAZYRT_RETURN_IF_ERROR(listing.nodes(variant_of(method, v), v));
    }
  }
  return {};
}

}  // namespace lazyrt
