#include <cstdio>

#include "host_tracer/graph/elements.h"
#include "host_tracer/graph/graph.h"

namespace lazyrt {
namespace {

constexpr int64_t kShownElements = 8;

std::string id_text(ValueId id) { return id == kNoValue ? "-" : "%" + std::to_string(id); }

std::string typed(const Graph& graph, ValueId id) {
  const Value& v = graph.value(id);
  return id_text(id) + ": " + dtype_name(v.dtype) + shape_text(v.shape).text +
         (v.quantization ? " quantized" : "");
}

std::string element_text(const Value& v, int64_t i) {
  if (v.dtype == DType::kBool) return read_integer(v.dtype, v.constant.data, i) ? "true" : "false";
  if (!is_floating(v.dtype)) return std::to_string(read_integer(v.dtype, v.constant.data, i));
  char buffer[40];
  std::snprintf(buffer, sizeof(buffer), "%.9g", read_element(v.dtype, v.constant.data, i));
  return buffer;
}

std::string constant_line(const Graph& graph, ValueId id) {
  const Value& v = graph.value(id);
  std::string s = typed(graph, id) + " = constant";
  if (!v.name.empty()) s += " \"" + v.name + "\"";
  if (v.constant.data != nullptr && v.shape.numel() > 0 && v.shape.numel() <= kShownElements) {
    s += " {";
    for (int64_t i = 0; i < v.shape.numel(); ++i) s += (i > 0 ? "," : "") + element_text(v, i);
    s += "}";
  }
  return s + "\n";
}

std::string node_line(const Graph& graph, const Node& node, bool with_sources) {
  std::string s;
  for (ValueId id : node.outputs) s += (s.empty() ? "" : ", ") + typed(graph, id);
  s += " = " + std::string(node.attrs.name()) + "(";
  for (size_t i = 0; i < node.inputs.size(); ++i)
    s += (i > 0 ? ", " : "") + id_text(node.inputs[i]);
  s += ")";
  const std::string attrs = node.attrs.text();
  if (!attrs.empty()) s += " {" + attrs + "}";
  const std::string where = with_sources ? node.source.text() : "";
  if (!where.empty()) s += "  # " + where;
  return s + "\n";
}

struct LiteralText {
  std::string operator()(bool v) const { return v ? "true" : "false"; }
  std::string operator()(int64_t v) const { return std::to_string(v); }
  std::string operator()(double v) const {
    char buffer[40];
    std::snprintf(buffer, sizeof(buffer), "%.17g", v);
    return buffer;
  }
};

std::string guard_line(const GraphGuard& guard, bool with_sources) {
  std::string s = (guard.check ? "check " : "guard ") + id_text(guard.value) + " is " +
                  std::visit(LiteralText{}, guard.seen);
  if (!guard.text.empty()) s += " \"" + guard.text + "\"";
  const std::string where = with_sources ? guard.source.text() : "";
  if (!where.empty()) s += "  # " + where;
  return s + "\n";
}

std::string output_line(const GraphOutput& out) {
  std::string s = "return ";
  s += out.literal ? std::visit(LiteralText{}, *out.literal) : id_text(out.value);
  if (!out.name.empty()) s += " \"" + out.name + "\"";
  return s + "\n";
}

}  // namespace

std::string graph_text(const Graph& graph, bool with_sources) {
  std::string s;
  for (ValueId id : graph.inputs()) {
    s += typed(graph, id) + " = input \"" + graph.value(id).name + "\"\n";
  }
  for (const GraphState& state : graph.states()) {
    s += typed(graph, state.value) + " = state \"" + graph.value(state.value).name + "\"\n";
  }
  const std::vector<int32_t> uses = graph.use_counts();
  for (ValueId id = 0; id < static_cast<ValueId>(graph.value_count()); ++id) {
    const bool used = uses[static_cast<size_t>(id)] > 0;
    if (used && graph.value(id).kind == ValueKind::kConstant) s += constant_line(graph, id);
  }
  for (const Node& node : graph.nodes()) s += node_line(graph, node, with_sources);
  for (const GraphGuard& guard : graph.guards()) s += guard_line(guard, with_sources);
  for (const GraphState& state : graph.states()) {
    s += "next " + id_text(state.value) + " = " + id_text(state.next) + "\n";
  }
  for (const GraphOutput& out : graph.outputs()) s += output_line(out);
  return s;
}

}  // namespace lazyrt
