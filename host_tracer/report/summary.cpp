#include "host_tracer/report/summary.h"

#include <cstdio>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "host_tracer/report/bundle_text.h"

namespace lazyrt {
namespace {

using Json = nlohmann::ordered_json;

std::string decimals(double value, const char* format) {
  char text[40];
  std::snprintf(text, sizeof text, format, value);
  return text;
}

void append_interface(const MethodInfo& method, std::ostringstream* out) {
  for (const TensorLine& input : method.inputs) {
    *out << "  input       " << input.name << ": " << tensor_text(input.dtype, input.shape) << "\n";
  }
  for (const TensorLine& output : method.outputs) {
    *out << "  output      " << output.name << ": " << tensor_text(output.dtype, output.shape)
         << "\n";
  }
  for (const LiteralLine& literal : method.literals) {
    *out << "  output      " << literal.name << " = " << literal.text << "\n";
  }
}

void append_check(const ExportSummary& summary, std::ostringstream* out) {
  if (summary.check.empty()) {
    *out << "  check       not made: " << summary.unchecked << "\n";
  }
  for (const CheckLine& line : summary.check) {
    *out << "  check       " << line.output << ": error " << decimals(line.relative(), "%.1e")
         << " of eager's largest value" << (line.ok ? "" : ": TOO LARGE") << "\n";
  }
}

Json check_json(const ExportSummary& summary) {
  Json list = Json::array();
  for (const CheckLine& line : summary.check) {
    list.push_back({{"output", line.output},
                    {"max_absolute_error", line.max_absolute},
                    {"largest_value", line.max_value},
                    {"relative_error", line.relative()},
                    {"ok", line.ok}});
  }
  return list;
}

Json passes_json(const std::vector<PassLine>& passes) {
  Json list = Json::array();
  for (const PassLine& pass : passes) {
    list.push_back({{"name", pass.name},
                    {"nodes_before", pass.nodes_before},
                    {"nodes_after", pass.nodes_after},
                    {"changes", pass.changes},
                    {"milliseconds", pass.milliseconds}});
  }
  return list;
}

Json literals_json(const MethodInfo& method) {
  Json list = Json::array();
  for (const LiteralLine& literal : method.literals) {
    list.push_back(
        {{"name", literal.name}, {"value", literal.text}, {"position", literal.position}});
  }
  return list;
}

/// The only method of what lazy-export writes.
const MethodInfo& method_of(const ExportSummary& summary) {
  static const MethodInfo none;
  return summary.bundle.methods.empty() ? none : summary.bundle.methods.front();
}

}  // namespace

void count_parameters(const Trace& trace, ExportSummary* summary) {
  std::set<const uint8_t*> seen;
  for (const TraceValue& value : trace.values) {
    const bool counts = value.leaf == LeafKind::kParameter || value.leaf == LeafKind::kBuffer;
    if (!counts || !seen.insert(value.constant.data).second) continue;
    summary->parameter_bytes += value.constant.bytes;
    const size_t size = dtype_size(value.dtype);
    summary->parameter_count += size == 0 ? 0 : value.constant.bytes / size;
  }
}

std::string summary_text(const ExportSummary& s) {
  const MethodInfo& method = method_of(s);
  std::ostringstream out;
  out << s.model << " -> " << s.bundle.path << "\n";
  append_interface(method, &out);
  out << "  nodes       " << s.captured_nodes << " captured -> " << s.imported_nodes
      << " imported -> " << method.nodes.size() << " after passes:";
  for (const auto& [op, count] : method.ops) out << " " << op << " " << count;
  out << "\n  parameters  " << s.parameter_count << ", " << bytes_text(s.parameter_bytes)
      << "; constants in the bundle " << bytes_text(method.constant_bytes) << "\n"
      << "  bundle      " << bytes_text(s.bundle.bytes) << "; arena "
      << bytes_text(method.arena_bytes) << "; work "
      << decimals(static_cast<double>(method.flops) / 1e9, "%.3g") << " GFLOP\n"
      << "  shapes      " << s.shapes.meta << " by meta, " << s.shapes.rule << " by rule, "
      << s.shapes.cpu << " by cpu\n";
  for (const std::string& note : s.notes) out << "  assumed     " << note << "\n";
  if (!method.session_error.empty()) out << "  cpu cannot run it: " << method.session_error << "\n";
  out << reference_nodes_text(method);
  append_check(s, &out);
  out << "  seconds     trace " << decimals(s.seconds.trace, "%.2f") << ", passes "
      << decimals(s.seconds.passes, "%.2f") << ", emit " << decimals(s.seconds.emit, "%.2f")
      << ", check " << decimals(s.seconds.check, "%.2f") << "\n";
  return out.str();
}

Json summary_json(const ExportSummary& s) {
  const MethodInfo& method = method_of(s);
  return {{"model", s.model},
          {"bundle", s.bundle.path},
          {"bytes", s.bundle.bytes},
          {"checksum", s.bundle.checksum},
          {"producer", s.bundle.producer},
          {"exported_by", s.producer},
          {"inputs", tensors_json(method.inputs)},
          {"outputs", tensors_json(method.outputs)},
          {"literals", literals_json(method)},
          {"nodes",
           {{"captured", s.captured_nodes},
            {"imported", s.imported_nodes},
            {"final", method.nodes.size()}}},
          {"ops", method.ops},
          {"passes", passes_json(s.passes)},
          {"parameters", {{"count", s.parameter_count}, {"bytes", s.parameter_bytes}}},
          {"constants", {{"count", method.constant_count}, {"bytes", method.constant_bytes}}},
          {"arena_bytes", method.arena_bytes},
          {"workspace_bytes", method.workspace_bytes},
          {"packed_weight_bytes", method.packed_weight_bytes},
          {"flops", method.flops},
          {"shapes", {{"meta", s.shapes.meta}, {"rule", s.shapes.rule}, {"cpu", s.shapes.cpu}}},
          {"notes", s.notes},
          {"reference_nodes", reference_nodes_json(method)},
          {"session_error", method.session_error},
          {"check", check_json(s)},
          {"unchecked", s.unchecked},
          {"seconds",
           {{"trace", s.seconds.trace},
            {"passes", s.seconds.passes},
            {"emit", s.seconds.emit},
            {"check", s.seconds.check}}}};
}

}  // namespace lazyrt
