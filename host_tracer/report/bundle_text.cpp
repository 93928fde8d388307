#include "host_tracer/report/bundle_text.h"

#include <cmath>
#include <cstdio>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>

#include "host_tracer/support/printable.h"

namespace lazyrt {
namespace {

using Json = nlohmann::ordered_json;

std::string place_text(const NodeLine& node) {
  std::string text = node.aten;
  if (!node.module_path.empty()) text += (text.empty() ? "" : " in ") + node.module_path;
  if (!node.source.empty()) text += (text.empty() ? "" : ", ") + node.source;
  return printable(text);
}

Json place_json(const NodeLine& node) {
  return {{"aten", node.aten}, {"module", node.module_path}, {"source", node.source}};
}

void append_tensors(const char* title, const std::vector<TensorLine>& tensors,
                    std::ostringstream* out) {
  for (const TensorLine& tensor : tensors) {
    *out << "  " << title << "  " << printable(tensor.name) << ": " << printable(tensor.type())
         << "\n";
  }
}

void append_nodes(const MethodInfo& method, std::ostringstream* out) {
  for (size_t i = 0; i < method.nodes.size(); ++i) {
    const NodeLine& node = method.nodes[i];
    *out << "  " << i << "  " << printable(node.name) << " = " << node.op << "(";
    for (size_t k = 0; k < node.inputs.size(); ++k) *out << (k ? ", %" : "%") << node.inputs[k];
    *out << (node.attributes.empty() ? "" : "; ") << node.attributes;
    for (const std::string& size : node.sizes) *out << "; " << printable(size);
    *out << ") ->";
    for (int id : node.outputs) {
      const ValueLine& value = method.values[static_cast<size_t>(id)];
      *out << " %" << id << " " << tensor_text(value.dtype, value.shape);
    }
    *out << "  [" << (node.backend.empty() ? "?" : node.backend) << "]  " << place_text(node)
         << "\n";
  }
}

void append_guards(const char* indent, const std::vector<GuardLine>& guards,
                   std::ostringstream* out) {
  for (const GuardLine& guard : guards) {
    *out << indent << (guard.check ? "check   " : "guard   ") << printable(guard.text) << " is "
         << guard.seen << (guard.source.empty() ? "" : "  (" + printable(guard.source) + ")")
         << "\n";
  }
}

void append_variants(const MethodInfo& method, std::ostringstream* out) {
  if (method.variants.size() == 1) append_guards("  ", method.variants[0].guards, out);
  for (size_t v = 0; v < method.variants.size() && method.variants.size() > 1; ++v) {
    const VariantLine& variant = method.variants[v];
    *out << "  variant " << v << ": " << variant.nodes << " nodes, " << variant.samples
         << " samples; takes";
    for (const TensorLine& input : variant.inputs)
      *out << " " << printable(input.name) << " " << printable(input.type());
    *out << "\n";
    for (const DimSymbol& symbol : variant.symbols)
      *out << "    size    " << printable(symbol.text()) << "\n";
    append_guards("    ", variant.guards, out);
  }
}

/// None where all nodes run in the host's memory.
void append_copies(const MethodInfo& method, std::ostringstream* out) {
  for (const CopyLine& copy : method.copies) {
    *out << "  " << copy.direction << " " << printable(copy.value) << ", " << bytes_text(copy.bytes)
         << " [" << copy.backend << "]\n";
  }
}

Json copies_json(const MethodInfo& method) {
  Json list = Json::array();
  for (const CopyLine& copy : method.copies) {
    list.push_back({{"copy", copy.direction},
                    {"backend", copy.backend},
                    {"value", copy.value},
                    {"bytes", copy.bytes}});
  }
  return list;
}

void append_method(const MethodInfo& method, bool with_nodes, std::ostringstream* out) {
  *out << "method " << printable(method.name) << "\n";
  for (const DimSymbol& symbol : method.symbols)
    *out << "  size    " << printable(symbol.text()) << "\n";
  append_tensors("input ", method.inputs, out);
  append_tensors("output", method.outputs, out);
  for (const LiteralLine& literal : method.literals) {
    *out << "  output  " << printable(literal.name) << " = " << literal.text
         << " (a number, result " << literal.position << ")\n";
  }
  append_tensors("state ", method.states, out);
  append_variants(method, out);
  *out << "  constants " << method.constant_count << ", " << bytes_text(method.constant_bytes)
       << "; arena " << bytes_text(method.arena_bytes)
       << (method.symbols.empty() ? "" : " (at most " + bytes_text(method.reserved_bytes) + ")")
       << "; workspace " << bytes_text(method.workspace_bytes) << "; packed weights "
       << bytes_text(method.packed_weight_bytes) << "; plan " << bytes_text(method.plan_bytes)
       << "\n";
  append_copies(method, out);
  *out << "  samples   " << method.sample_count << "\n"
       << "  nodes     " << method.nodes.size() << ":";
  for (const auto& [op, count] : method.ops) *out << " " << op << " " << count;
  *out << "\n";
  if (!method.session_error.empty()) {
    *out << "  cpu cannot run it: " << printable(method.session_error) << "\n";
  }
  *out << reference_nodes_text(method);
  if (with_nodes) append_nodes(method, out);
}

Json value_json(const ValueLine& value) {
  Json json = {{"name", value.name},   {"kind", value.kind},     {"dtype", dtype_name(value.dtype)},
               {"shape", value.shape}, {"offset", value.offset}, {"bytes", value.bytes}};
  if (value.alias_of >= 0) json["alias_of"] = value.alias_of;
  return json;
}

/// Numbers, texts and lists of them; values that JSON has no form for (enums, infinities) as text.
Json field_json(const AttrField& field) {
  if (field.type == flatbuffers::ET_STRING) return field.string;
  if (field.is_vector) return field.is_real() ? Json(field.reals) : Json(field.integers);
  if (field.type == flatbuffers::ET_BOOL) return field.integers[0] != 0;
  if (field.names != nullptr) return field.text();
  if (!field.is_real()) return field.integers[0];
  return std::isfinite(field.reals[0]) ? Json(field.reals[0]) : Json(field.text());
}

Json node_json(const NodeLine& node) {
  Json attributes = Json::object();
  for (const AttrField& field : node.fields) attributes[field.name] = field_json(field);
  Json json = {{"op", node.op},         {"name", node.name},       {"attributes", attributes},
               {"inputs", node.inputs}, {"outputs", node.outputs}, {"backend", node.backend},
               {"reason", node.reason}, {"flops", node.flops}};
  if (!node.sizes.empty()) json["sizes"] = node.sizes;
  json.update(place_json(node));
  return json;
}

Json literals_json(const std::vector<LiteralLine>& literals) {
  Json list = Json::array();
  for (const LiteralLine& literal : literals) {
    list.push_back({{"name", literal.name},
                    {"dtype", dtype_name(literal.dtype)},
                    {"value", literal.text},
                    {"position", literal.position}});
  }
  return list;
}

Json symbols_json(const std::vector<DimSymbol>& symbols) {
  Json list = Json::array();
  for (const DimSymbol& symbol : symbols) {
    list.push_back({{"name", symbol.name},
                    {"min", symbol.min},
                    {"max", symbol.max},
                    {"multiple", symbol.multiple}});
  }
  return list;
}

Json variants_json(const MethodInfo& method) {
  Json list = Json::array();
  for (const VariantLine& variant : method.variants) {
    Json guards = Json::array();
    for (const GuardLine& guard : variant.guards)
      guards.push_back({{"text", guard.text},
                        {"seen", guard.seen},
                        {"source", guard.source},
                        {"check", guard.check}});
    list.push_back({{"symbols", symbols_json(variant.symbols)},
                    {"inputs", tensors_json(variant.inputs)},
                    {"outputs", tensors_json(variant.outputs)},
                    {"guards", guards},
                    {"nodes", variant.nodes},
                    {"samples", variant.samples}});
  }
  return list;
}

Json method_json(const MethodInfo& method) {
  Json json = {{"name", method.name},
               {"inputs", tensors_json(method.inputs)},
               {"outputs", tensors_json(method.outputs)},
               {"literals", literals_json(method.literals)},
               {"states", tensors_json(method.states)},
               {"variants", variants_json(method)},
               {"samples", method.sample_count},
               {"nodes", method.nodes.size()},
               {"ops", method.ops},
               {"constants", {{"count", method.constant_count}, {"bytes", method.constant_bytes}}},
               {"arena_bytes", method.arena_bytes},
               {"reserved_bytes", method.reserved_bytes},
               {"workspace_bytes", method.workspace_bytes},
               {"packed_weight_bytes", method.packed_weight_bytes},
               {"plan_bytes", method.plan_bytes},
               {"copies", copies_json(method)},
               {"flops", method.flops},
               {"reference_nodes", reference_nodes_json(method)},
               {"session_error", method.session_error}};
  json["symbols"] = symbols_json(method.symbols);
  json["node_list"] = Json::array();
  for (const NodeLine& node : method.nodes) json["node_list"].push_back(node_json(node));
  json["values"] = Json::array();
  for (const ValueLine& value : method.values) json["values"].push_back(value_json(value));
  return json;
}

}  // namespace

std::string tensor_text(DType dtype, const std::vector<int64_t>& shape) {
  std::string text = std::string(dtype_name(dtype)) + "[";
  for (size_t i = 0; i < shape.size(); ++i) text += (i ? "," : "") + std::to_string(shape[i]);
  return text + "]";
}

std::string bytes_text(uint64_t bytes) {
  static const char* const kUnits[] = {"B", "kB", "MB", "GB", "TB"};
  double value = static_cast<double>(bytes);
  size_t unit = 0;
  for (; value >= 999.5 && unit + 1 < std::size(kUnits); ++unit) value /= 1000;
  char text[32];
  const int digits = unit == 0 ? 0 : value < 9.995 ? 2 : value < 99.95 ? 1 : 0;
  std::snprintf(text, sizeof text, "%.*f %s", digits, value, kUnits[unit]);
  return text;
}

std::string reference_nodes_text(const MethodInfo& method) {
  const auto nodes = method.reference_nodes();
  if (nodes.empty()) return "";
  std::ostringstream out;
  out << "  " << nodes.size() << " node(s) that cpu runs by a reference kernel:\n";
  for (const NodeLine* node : nodes) {
    out << "    " << node->op << ": " << printable(node->reason) << "  (" << place_text(*node)
        << ")\n";
  }
  return out.str();
}

std::string bundle_text(const BundleInfo& info, bool with_nodes) {
  std::ostringstream out;
  out << info.path << ": " << bytes_text(info.bytes) << ", format " << info.format_major << "."
      << info.format_minor << ", by " << printable(info.producer) << ", checksum " << info.checksum
      << "\n"
      << "  verdict: " << (info.verdict.empty() ? "not noted" : printable(info.verdict)) << "\n";
  for (const auto& [key, value] : info.info)
    out << "  " << printable(key) << ": " << printable(value) << "\n";
  for (const MethodInfo& method : info.methods) append_method(method, with_nodes, &out);
  return out.str();
}

Json tensors_json(const std::vector<TensorLine>& tensors) {
  Json list = Json::array();
  for (const TensorLine& tensor : tensors) {
    list.push_back(
        {{"name", tensor.name}, {"dtype", dtype_name(tensor.dtype)}, {"shape", tensor.shape}});
    if (!tensor.symbols.empty()) list.back()["symbols"] = tensor.symbols;
  }
  return list;
}

Json reference_nodes_json(const MethodInfo& method) {
  Json list = Json::array();
  for (size_t i = 0; i < method.nodes.size(); ++i) {
    const NodeLine& node = method.nodes[i];
    if (node.backend != "reference") continue;
    Json json = {{"node", i}, {"op", node.op}, {"reason", node.reason}};
    json.update(place_json(node));
    list.push_back(json);
  }
  return list;
}

Json bundle_json(const BundleInfo& info) {
  Json json = {
      {"bundle", info.path},
      {"bytes", info.bytes},
      {"format", std::to_string(info.format_major) + "." + std::to_string(info.format_minor)},
      {"producer", info.producer},
      {"checksum", info.checksum},
      {"verdict", info.verdict},
      {"metadata_bytes", info.metadata_bytes},
      {"constants_bytes", info.constants_bytes},
      {"samples_bytes", info.samples_bytes}};
  json["info"] = Json::object();
  for (const auto& [key, value] : info.info) json["info"][key] = value;
  json["methods"] = Json::array();
  for (const MethodInfo& method : info.methods) json["methods"].push_back(method_json(method));
  return json;
}

}  // namespace lazyrt
