// Each node: a known op, operands that fit it, values made once and before their use, and shapes
// that are exactly what the op's shape rule gives.

#include "runtime/bundle/method_check.h"
#include "runtime/op/node_work.h"
#include "runtime/op/table_layout.h"

namespace lazyrt {
namespace {

/// Whether attributes that are vectors of 64-bit numbers can be read in place.
bool has_aligned_attributes(const fb::Node& node) {
  const auto* table = static_cast<const flatbuffers::Table*>(node.op());
  const Span<const Field> fields = fields_of(node.op_type());
  for (size_t i = 0; i < fields.size(); ++i) {
    if (fields[i].kind() != Field::Kind::kNumbers || fields[i].bytes() != sizeof(int64_t)) continue;
    if (!is_aligned(table->GetPointer<const flatbuffers::Vector<int64_t>*>(slot_of(i))))
      return false;
  }
  return true;
}

/// Room for the specs of one node's operands; nodes use it one after the other.
struct SpecsRoom {
  Span<TensorSpec> inputs;
  Span<TensorSpec> outputs;
};

/// A node's operands: their values' ids, and their specs in that room.
struct Operands {
  Operands(const fb::Node& node, const SpecsRoom& room)
      : input_ids(inputs_of(node)),
        output_ids(outputs_of(node)),
        inputs(room.inputs.data(), input_ids.size()),
        outputs(room.outputs.data(), output_ids.size()) {}

  Span<const int32_t> input_ids;
  Span<const int32_t> output_ids;
  Span<TensorSpec> inputs;
  Span<TensorSpec> outputs;
};

/// `a`, `b` and `c` make the name of what is missing.
Fault not_built(const OpTable& ops, const char* a, const char* b, const char* c) {
  if (ops.selection == nullptr) {
    return Fault(Error::kUnsupported, "%s%s%s is not built into this runtime", a, b, c);
  }
  return Fault(Error::kUnsupported, "%s%s%s was left out: add this bundle to %s", a, b, c,
               ops.selection);
}

Fault check_op(const MethodCheck& c, const fb::Node& node, const OpEntry** entry) {
  const auto kind = node.op_type();
  if (kind > fb::OpAttrs::MAX) {
    return Fault(Error::kUnsupported,
                 "operator number %d is newer than this runtime, which knows %d",
                 static_cast<int>(kind), static_cast<int>(fb::OpAttrs::MAX));
  }
  if (kind == fb::OpAttrs::NONE || node.op() == nullptr) return bad_bundle("it has no operator");
  *entry = c.ops.find(attrs_of(node));
  if (*entry != nullptr) return {};
  if (kind == fb::OpAttrs::CustomOp) {
    const fb::CustomOp& op = *node.op_as_CustomOp();
    return Fault(Error::kUnsupported,
                 "custom operator '%.60s' version %u is not in the table given to load",
                 text_of(op.name()), static_cast<unsigned>(op.version()));
  }
  return not_built(c.ops, "operator ", fb::EnumNameOpAttrs(kind), "");
}

/// Checks that a selective build was made for every type of the node's operands and results.
Fault check_kept(const MethodCheck& c, const OpEntry& op, const fb::Node& node,
                 const Operands& operands) {
  if (op.kept == nullptr) return {};
  const OpFunctions& functions = op.def->functions;
  const int function = functions.number == nullptr ? 0 : functions.number(attrs_of(node));
  const char* name = functions.number == nullptr ? op.name : functions.names()[function];
  const uint32_t types = op.types_of(function);
  if (types == 0) return not_built(c.ops, "function ", name, "");
  for (const Span<TensorSpec>& specs : {operands.inputs, operands.outputs}) {
    for (const TensorSpec& spec : specs) {
      if (spec.present() && (types >> static_cast<unsigned>(spec.dtype) & 1) == 0)
        return not_built(c.ops, dtype_name(spec.dtype), " of ", name);
    }
  }
  return {};
}

/// REQUIRES: there are no more than kBundleMaxOperands.
Fault check_operand_count(const OpDef& def, const fb::Node& node, const Operands& operands) {
  const auto inputs = static_cast<int>(operands.inputs.size());
  const auto outputs = static_cast<int>(operands.outputs.size());
  if (inputs < def.min_inputs || (def.max_inputs >= 0 && inputs > def.max_inputs)) {
    return bad_bundle("%d inputs, the operator takes %d to %d", inputs, def.min_inputs,
                      def.max_inputs);
  }
  if (outputs != def.outputs)
    return bad_bundle("%d outputs, the operator has %d", outputs, def.outputs);
  const fb::CustomOp* custom = node.op_as_CustomOp();
  if (custom != nullptr && custom->outputs() != static_cast<uint32_t>(def.outputs)) {
    return bad_bundle("the bundle's custom operator has %u outputs, the table's %d",
                      static_cast<unsigned>(custom->outputs()), def.outputs);
  }
  return {};
}

Fault check_input(const MethodCheck& c, const OpDef& def, size_t operand, int32_t id) {
  if (id == -1) {
    const bool optional = operand < 32 && ((def.optional_inputs >> operand) & 1) != 0;
    return optional ? Fault() : bad_bundle("input %zu: it is missing", operand);
  }
  if (!c.is_value(id)) {
    return bad_bundle("input %zu: there is no value %d, the method has %zu", operand, id,
                      c.values.size());
  }
  if (c.values[static_cast<size_t>(id)].made_at == ValueFacts::kNotMade) {
    return bad_bundle("input %zu: value %d is not made yet", operand, id);
  }
  return {};
}

Fault check_inputs(MethodCheck* c, const OpDef& def, int32_t index, const Operands& operands) {
  const Span<const int32_t> ids = operands.input_ids;
  for (size_t i = 0; i < ids.size(); ++i) {
    LAZYRT_RETURN_IF_ERROR(check_input(*c, def, i, ids[i]));
    if (ids[i] < 0) {
      operands.inputs[i] = TensorSpec();
      continue;
    }
    ValueFacts& facts = c->values[static_cast<size_t>(ids[i])];
    if (facts.last_use < index) facts.last_use = index;
    operands.inputs[i] = facts.spec;
  }
  return {};
}

Fault check_outputs(MethodCheck* c, int32_t index, Span<const int32_t> ids) {
  for (size_t i = 0; i < ids.size(); ++i) {
    if (!c->is_value(ids[i])) {
      return bad_bundle("output %zu: there is no value %d, the method has %zu", i, ids[i],
                        c->values.size());
    }
    ValueFacts& facts = c->values[static_cast<size_t>(ids[i])];
    if (facts.kind != fb::ValueKind::Arena) {
      return bad_bundle("output %zu: value %d is an %s, no node makes it", i, ids[i],
                        fb::EnumNameValueKind(facts.kind));
    }
    if (facts.made_at != ValueFacts::kNotMade) {
      return bad_bundle("output %zu: value %d is already made by node %d", i, ids[i],
                        facts.made_at);
    }
    facts.made_at = index;
    if (facts.last_use < index) facts.last_use = index;
  }
  return {};
}

/// Derives what a node makes at other sizes: dtype and rank are those of the file.
Fault derive_output(MethodCheck* c, size_t output, size_t id, const TensorSpec& made) {
  TensorSpec& spec = c->values[id].spec;
  if (made.dtype == spec.dtype && made.shape.rank() == spec.shape.rank()) {
    spec = made;
    if (checked_bytes(spec, &c->values[id].bytes)) return {};
    return bad_bundle("output %zu: at these sizes %s is too large", output,
                      shape_text(made.shape).text);
  }
  return bad_bundle("output %zu: at these sizes it is %s%s, in the bundle %s%s", output,
                    dtype_name(made.dtype), shape_text(made.shape).text, dtype_name(spec.dtype),
                    shape_text(spec.shape).text);
}

Fault check_inferred(MethodCheck* c, const OpDef& def, const fb::Node& node,
                     const Operands& operands) {
  for (TensorSpec& spec : operands.outputs) spec = TensorSpec();
  const Fault status = def.infer(attrs_of(node), operands.inputs, operands.outputs);
  if (status.error() == Error::kUnsupported) return status;
  if (!status.ok()) return status.as(Error::kInvalidBundle);
  for (size_t i = 0; i < operands.outputs.size(); ++i) {
    const TensorSpec& made = operands.outputs[i];
    const auto id = static_cast<size_t>(operands.output_ids[i]);
    if (c->derives()) {
      LAZYRT_RETURN_IF_ERROR(derive_output(c, i, id, made));
      continue;
    }
    const TensorSpec& said = c->values[id].spec;
    if (made.dtype != said.dtype || made.shape != said.shape) {
      return bad_bundle("output %zu: the bundle says %s%s, the operator gives %s%s", i,
                        dtype_name(said.dtype), shape_text(said.shape).text, dtype_name(made.dtype),
                        shape_text(made.shape).text);
    }
  }
  return {};
}

/// REQUIRES: check_inferred was ok, and filled the specs.
Fault check_work(const MethodCheck& c, const OpDef& def, const fb::Node& node,
                 const Operands& operands) {
  return c.work->add_node(work_of_node(def, attrs_of(node), operands.inputs, operands.outputs));
}

Fault check_node(MethodCheck* c, int32_t index, const SpecsRoom& room) {
  const fb::Node& node = c->node(index);
  const Operands operands(node, room);
  if (!c->is_source(node.source())) return bad_bundle("there is no source %d", node.source());
  const OpEntry* entry = nullptr;
  LAZYRT_RETURN_IF_ERROR(check_op(*c, node, &entry));
  if (!has_aligned_attributes(node)) return bad_bundle("an attribute of it is not aligned");
  LAZYRT_RETURN_IF_ERROR(check_operand_count(*entry->def, node, operands));
  LAZYRT_RETURN_IF_ERROR(check_inputs(c, *entry->def, index, operands));
  LAZYRT_RETURN_IF_ERROR(check_outputs(c, index, operands.output_ids));
  LAZYRT_RETURN_IF_ERROR(check_inferred(c, *entry->def, node, operands));
  LAZYRT_RETURN_IF_ERROR(check_kept(*c, *entry, node, operands));
  return check_work(*c, *entry->def, node, operands);
}

/// Takes as much room as the largest node needs. Counts the work of walking all operands.
Fault make_room(MethodCheck* check, SpecsRoom* room) {
  const MethodCheck& c = *check;
  size_t inputs = 0;
  size_t outputs = 0;
  for (int32_t i = 0; i < c.node_count(); ++i) {
    const size_t in = inputs_of(c.node(i)).size();
    const size_t out = outputs_of(c.node(i)).size();
    if (in + out > kBundleMaxOperands) {
      return c.at_node(i, bad_bundle("%zu operands, at most %u are allowed", in + out,
                                     static_cast<unsigned>(kBundleMaxOperands)));
    }
    inputs = in > inputs ? in : inputs;
    outputs = out > outputs ? out : outputs;
  }
  *room = {check->memory.make<TensorSpec>(inputs), check->memory.make<TensorSpec>(outputs)};
  return check->memory.is_short() ? no_memory_to_check() : Fault();
}

/// Looks at all operators at once, so that the message counts the missing ones.
Fault check_known_ops(const MethodCheck& c) {
  const OpEntry* entry = nullptr;
  int32_t first = -1;
  int count = 0;
  for (int32_t i = 0; i < c.node_count(); ++i) {
    const Fault fault = check_op(c, c.node(i), &entry);
    if (fault.ok()) continue;
    if (fault.error() != Error::kUnsupported) return c.at_node(i, fault);
    if (count++ == 0) first = i;
  }
  if (count == 0) return {};
  const Fault fault = c.at_node(first, check_op(c, c.node(first), &entry));
  if (count == 1) return fault;
  if (LAZYRT_MESSAGES == 0) return fault.with_context("%d more nodes too", count - 1);
  return Fault(fault.error(), "%s; %d more nodes too", fault.message(), count - 1);
}

Fault check_all_made(const MethodCheck& c) {
  for (size_t id = 0; id < c.values.size(); ++id) {
    if (c.values[id].made_at == ValueFacts::kNotMade)
      return c.at_value(id, bad_bundle("no node makes it"));
  }
  return {};
}

}  // namespace

Fault check_nodes(MethodCheck* check) {
  SpecsRoom room;
  LAZYRT_RETURN_IF_ERROR(make_room(check, &room));
  LAZYRT_RETURN_IF_ERROR(check_known_ops(*check));
  for (int32_t i = 0; i < check->node_count(); ++i) {
    LAZYRT_RETURN_IF_ERROR(check->check_stop());
    LAZYRT_RETURN_IF_ERROR(check->at_node(i, check_node(check, i, room)));
  }
  return check_all_made(*check);
}

}  // namespace lazyrt
