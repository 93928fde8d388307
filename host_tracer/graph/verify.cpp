#include "host_tracer/graph/graph.h"

namespace lazyrt {
namespace {

class Verifier {
 public:
  explicit Verifier(const Graph& graph) : graph_(graph), defined_(graph.value_count(), false) {}

  Outcome<Done> run() {
    for (ValueId id : graph_.inputs()) {
      if (!in_range(id) || graph_.value(id).kind != ValueKind::kInput || defined_[index(id)]) {
        return failure("input %" + std::to_string(id) + " is no input value, or listed twice");
      }
      defined_[index(id)] = true;
    }
    for (const GraphState& state : graph_.states()) {
      const ValueId id = state.value;
      if (!in_range(id) || graph_.value(id).kind != ValueKind::kState || defined_[index(id)]) {
        return failure("state %" + std::to_string(id) + " is no state value, or listed twice");
      }
      defined_[index(id)] = true;
    }
    LAZYRT_TRY(constants());
    for (size_t i = 0; i < graph_.nodes().size(); ++i) LAZYRT_TRY(node(i));
    LAZYRT_TRY(outputs());
    LAZYRT_TRY(guards());
    return states();
  }

 private:
  static size_t index(ValueId id) { return static_cast<size_t>(id); }
  bool in_range(ValueId id) const { return id >= 0 && index(id) < graph_.value_count(); }
  static Failure failure(const std::string& text) {
    return {Error::kInternal, "graph verifier: " + text};
  }

  /// Room that nothing fills yet, but what is there is whole.
  Outcome<Done> quantization(ValueId id) {
    const Value& v = graph_.value(id);
    if (!v.quantization) return Done{};
    const ValueQuantization& q = *v.quantization;
    const bool axis = q.axis >= -1 && q.axis < v.shape.rank();
    const size_t channels = !axis || q.axis < 0 ? 1 : static_cast<size_t>(v.shape[q.axis]);
    if (!axis || !is_integral(v.dtype) || q.scales.size() != channels ||
        q.zero_points.size() != channels) {
      return failure("%" + std::to_string(id) + " has " + std::to_string(q.scales.size()) +
                     " scales and " + std::to_string(q.zero_points.size()) + " zero points along " +
                     std::to_string(q.axis) + " of " + dtype_name(v.dtype) +
                     shape_text(v.shape).text);
    }
    return Done{};
  }

  Outcome<Done> constants() {
    for (ValueId id = 0; index(id) < graph_.value_count(); ++id) {
      const Value& v = graph_.value(id);
      LAZYRT_TRY(quantization(id));
      if (v.kind != ValueKind::kConstant && v.kind != ValueKind::kState) continue;
      int64_t count = 0;
      const bool sized = v.dtype != DType::kNone && v.shape.checked_numel(&count);
      const size_t want = dtype_bytes(v.dtype, count);
      if (!sized || v.constant.bytes != want || (want > 0 && v.constant.data == nullptr)) {
        return failure("constant %" + std::to_string(id) + " \"" + v.name + "\" has " +
                       std::to_string(v.constant.bytes) + " bytes, its type wants " +
                       std::to_string(want));
      }
      if (v.kind == ValueKind::kConstant) defined_[index(id)] = true;
    }
    return Done{};
  }

  Outcome<Done> guards() {
    for (const GraphGuard& guard : graph_.guards()) {
      const std::string who = "guard \"" + guard.text + "\"";
      if (!in_range(guard.value) || !defined_[index(guard.value)])
        return failure(who + " is of a value that is not defined");
      const Value& v = graph_.value(guard.value);
      if (v.dtype == DType::kNone || v.shape.numel() != 1)
        return failure(who + " is of " + dtype_name(v.dtype) + shape_text(v.shape).text);
      const bool real = std::holds_alternative<double>(guard.seen);
      if (!std::holds_alternative<bool>(guard.seen) && real != is_floating(v.dtype))
        return failure(who + " saw another kind of number than " + dtype_name(v.dtype));
    }
    return Done{};
  }

  Outcome<Done> states() {
    for (const GraphState& state : graph_.states()) {
      const Value& v = graph_.value(state.value);
      const std::string who = "state \"" + v.name + "\"";
      if (!in_range(state.next) || !defined_[index(state.next)])
        return failure(who + " becomes a value that is not defined");
      const Value& next = graph_.value(state.next);
      if (next.dtype != v.dtype || next.shape != v.shape) {
        return failure(who + " is " + dtype_name(v.dtype) + shape_text(v.shape).text +
                       ", but becomes " + dtype_name(next.dtype) + shape_text(next.shape).text);
      }
    }
    return Done{};
  }

  Outcome<Done> node(size_t i) {
    const Node& n = graph_.nodes()[i];
    const std::string who = "node " + std::to_string(i) + " (" + n.attrs.name() +
                            (n.source.text().empty() ? "" : " at " + n.source.text()) + ")";
    const OpEntry* op = graph_.ops().find(n.attrs.view());
    if (op == nullptr) return failure(who + " is not in the op table");
    std::vector<TensorSpec> operands;
    for (ValueId id : n.inputs) {
      if (id != kNoValue && (!in_range(id) || !defined_[index(id)])) {
        return failure(who + " reads %" + std::to_string(id) + " before it is defined");
      }
      operands.push_back(graph_.spec(id));
    }
    LAZYRT_TRY(operand_count(n, *op->def, who));
    return results(n, *op->def, operands, static_cast<int32_t>(i), who);
  }

  Outcome<Done> operand_count(const Node& n, const OpDef& def, const std::string& who) {
    const auto count = static_cast<int>(n.inputs.size());
    bool fits = count >= def.min_inputs && (def.max_inputs < 0 || count <= def.max_inputs);
    for (int i = 0; i < count; ++i) {
      const bool optional = i < 32 && ((def.optional_inputs >> i) & 1) != 0;
      fits = fits && (optional || n.inputs[static_cast<size_t>(i)] != kNoValue);
    }
    if (!fits) return failure(who + " has the wrong operands");
    return Done{};
  }

  Outcome<Done> results(const Node& n, const OpDef& def, const std::vector<TensorSpec>& operands,
                        int32_t producer, const std::string& who) {
    std::vector<TensorSpec> made(n.outputs.size());
    if (n.attrs.kind() != fb::OpAttrs::CustomOp &&
        made.size() != static_cast<size_t>(def.outputs)) {
      return failure(who + " has the wrong number of outputs");
    }
    const Status status =
        def.infer(n.attrs.view(), Span<const TensorSpec>(operands), Span<TensorSpec>(made));
    if (!status.ok()) return failure(who + ": " + status.message());
    for (size_t k = 0; k < made.size(); ++k) {
      const ValueId id = n.outputs[k];
      if (!in_range(id) || defined_[index(id)]) return failure(who + " defines a value again");
      const Value& v = graph_.value(id);
      if (v.kind != ValueKind::kNode || v.producer != producer) {
        return failure(who + ": value %" + std::to_string(id) + " names another producer");
      }
      if (v.dtype != made[k].dtype || v.shape != made[k].shape) {
        return failure(who + ": %" + std::to_string(id) + " is " + dtype_name(v.dtype) +
                       shape_text(v.shape).text + ", the shape rule says " +
                       dtype_name(made[k].dtype) + shape_text(made[k].shape).text);
      }
      defined_[index(id)] = true;
    }
    return Done{};
  }

  Outcome<Done> outputs() {
    for (const GraphOutput& out : graph_.outputs()) {
      if (out.literal) continue;
      if (!in_range(out.value) || !defined_[index(out.value)]) {
        return failure("output \"" + out.name + "\" is not defined");
      }
    }
    return Done{};
  }

  const Graph& graph_;
  std::vector<bool> defined_;
};

}  // namespace

Outcome<Done> verify_graph(const Graph& graph) { return Verifier(graph).run(); }

}  // namespace lazyrt
