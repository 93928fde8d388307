#include "host_tracer/report/html.h"

#include <algorithm>
#include <cstdio>
#include <sstream>

#include "host_tracer/report/bundle_text.h"
#include "host_tracer/report/memory_svg.h"
#include "host_tracer/report/module_costs.h"

namespace lazyrt {
namespace {

constexpr char kStyle[] = R"(
:root { color-scheme: light dark; --line: #8884; --soft: #8882; --warn: #c60; }
body { font: 14px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 72rem; padding: 0 1rem; }
h1 { font-size: 1.5rem; margin-bottom: 0; } h2 { font-size: 1.1rem; margin-top: 2.5rem; }
table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums; }
th, td { text-align: left; padding: .25rem .6rem; border-bottom: 1px solid var(--line); vertical-align: top; }
th { font-weight: 600; background: var(--soft); } td.n, th.n { text-align: right; white-space: nowrap; }
code { font: 12px ui-monospace, monospace; overflow-wrap: anywhere; }
td.t code { white-space: nowrap; overflow-wrap: normal; }
.cards { display: flex; flex-wrap: wrap; gap: .8rem; margin: 1.2rem 0; }
.card { border: 1px solid var(--line); border-radius: 8px; padding: .6rem 1rem; min-width: 7rem; }
.card b { display: block; font-size: 1.25rem; } .warn { color: var(--warn); } .muted { opacity: .7; }
svg { width: 100%; height: auto; border: 1px solid var(--line); border-radius: 8px; }
details summary { cursor: pointer; }
)";

std::string escape(const std::string& text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      default:
        out += c;
    }
  }
  return out;
}

std::string number(double value, const char* format) {
  char text[40];
  std::snprintf(text, sizeof text, format, value);
  return text;
}

std::string flops_text(uint64_t flops) {
  if (flops == 0) return "";
  const double value = static_cast<double>(flops);
  return value >= 1e9 ? number(value / 1e9, "%.2f G") : number(value / 1e6, "%.2f M");
}

void card(std::ostringstream* out, const std::string& value, const std::string& label) {
  *out << "<div class=card><b>" << escape(value) << "</b>" << label << "</div>\n";
}

void cards(const BundleInfo& bundle, const MethodInfo& method, std::ostringstream* out) {
  *out << "<div class=cards>\n";
  card(out, bytes_text(bundle.bytes), "bundle");
  card(out, bytes_text(method.constant_bytes), "constants");
  card(out, bytes_text(method.arena_bytes), "arena");
  card(out, bytes_text(method.packed_weight_bytes), "packed weights");
  card(out, std::to_string(method.nodes.size()), "nodes");
  card(out, std::to_string(method.reference_nodes().size()), "on reference kernels");
  card(out, flops_text(method.flops).empty() ? "0" : flops_text(method.flops), "FLOP a run");
  *out << "</div>\n";
}

void tensor_rows(const char* kind, const std::vector<TensorLine>& tensors,
                 std::ostringstream* out) {
  for (const TensorLine& tensor : tensors) {
    *out << "<tr><td>" << kind << "<td><code>" << escape(tensor.name) << "</code><td><code>"
         << tensor_text(tensor.dtype, tensor.shape) << "</code>\n";
  }
}

void interface_table(const MethodInfo& method, std::ostringstream* out) {
  *out << "<h2>Interface of <code>" << escape(method.name) << "</code></h2><table>\n";
  tensor_rows("input", method.inputs, out);
  tensor_rows("output", method.outputs, out);
  for (const LiteralLine& literal : method.literals) {
    *out << "<tr><td>number<td><code>" << escape(literal.name) << "</code><td><code>"
         << escape(literal.text) << "</code>\n";
  }
  *out << "</table>\n";
}

void memory_plan(const MethodInfo& method, std::ostringstream* out) {
  *out << "<h2>Memory plan</h2><p class=muted>Each bar is a value: from the node that makes it to "
          "its last use (across), where it lies in the arena of "
       << bytes_text(method.arena_bytes) << " (down). Point at a bar to see it.</p>\n"
       << memory_svg(method);
}

void module_table(const MethodInfo& method, std::ostringstream* out) {
  *out << "<h2>Cost by module</h2><table><tr><th>module<th class=n>nodes<th class=n>constants"
          "<th class=n>FLOP<th class=n>share\n";
  for (const ModuleCost& cost : module_costs(method)) {
    const double share = method.flops == 0 ? 0
                                           : 100.0 * static_cast<double>(cost.flops) /
                                                 static_cast<double>(method.flops);
    *out << "<tr><td><code>" << escape(cost.module.empty() ? "(root)" : cost.module)
         << "</code><td class=n>" << cost.nodes << "<td class=n>" << bytes_text(cost.constant_bytes)
         << "<td class=n>" << flops_text(cost.flops) << "<td class=n>" << number(share, "%.1f %%")
         << "\n";
  }
  *out << "</table>\n";
}

void node_rows(const MethodInfo& method, std::ostringstream* out) {
  for (size_t i = 0; i < method.nodes.size(); ++i) {
    const NodeLine& node = method.nodes[i];
    *out << "<tr><td class=n>" << i << "<td><code>" << escape(node.op)
         << "</code> <code class=muted>" << escape(node.attributes) << "</code><td class=t>";
    for (int id : node.outputs) {
      const ValueLine& value = method.values[static_cast<size_t>(id)];
      *out << "<code>" << tensor_text(value.dtype, value.shape) << "</code><br>";
    }
    *out << "<td class=n>" << flops_text(node.flops) << "<td"
         << (node.reason.empty() ? "" : " class=warn") << ">" << escape(node.backend)
         << (node.reason.empty() ? "" : ": ") << escape(node.reason) << "<td><code>"
         << escape(node.aten) << "</code><br><span class=muted>" << escape(node.module_path)
         << (node.source.empty() ? "" : " · ") << escape(node.source) << "</span>\n";
  }
}

void node_table(const MethodInfo& method, std::ostringstream* out) {
  *out << "<h2>Nodes</h2>\n";
  if (!method.session_error.empty()) {
    *out << "<p class=warn>cpu cannot run it: " << escape(method.session_error) << "</p>\n";
  }
  *out << "<details open><summary>" << method.nodes.size()
       << " nodes in order of execution</summary>"
       << "<table><tr><th class=n>#<th>op<th>result<th class=n>FLOP<th>run by<th>from\n";
  node_rows(method, out);
  *out << "</table></details>\n";
}

void check_table(const ExportSummary& summary, std::ostringstream* out) {
  *out << "<h2>Check against eager PyTorch</h2>\n";
  if (summary.check.empty()) {
    *out << "<p>Not made: " << escape(summary.unchecked) << "</p>\n";
    return;
  }
  *out << "<table><tr><th>output<th class=n>largest error<th class=n>largest value<th "
          "class=n>ratio\n";
  for (const CheckLine& line : summary.check) {
    *out << "<tr" << (line.ok ? "" : " class=warn") << "><td><code>" << escape(line.output)
         << "</code><td class=n>" << number(line.max_absolute, "%.2e") << "<td class=n>"
         << number(line.max_value, "%.4g") << "<td class=n>" << number(line.relative(), "%.1e")
         << "\n";
  }
  *out << "</table>\n";
}

void pass_table(const ExportSummary& summary, std::ostringstream* out) {
  *out << "<h2>Passes</h2><p>" << summary.captured_nodes << " ATen calls captured, "
       << summary.imported_nodes << " nodes imported. Shapes: " << summary.shapes.meta
       << " by meta, " << summary.shapes.rule << " by rule, " << summary.shapes.cpu
       << " by cpu.</p><table><tr><th>pass<th class=n>nodes before<th class=n>after"
          "<th class=n>changes<th class=n>ms\n";
  for (const PassLine& pass : summary.passes) {
    *out << "<tr" << (pass.changes == 0 ? " class=muted" : "") << "><td><code>" << escape(pass.name)
         << "</code><td class=n>" << pass.nodes_before << "<td class=n>" << pass.nodes_after
         << "<td class=n>" << pass.changes << "<td class=n>" << number(pass.milliseconds, "%.2f")
         << "\n";
  }
  *out << "</table>\n";
}

void notes(const ExportSummary& summary, std::ostringstream* out) {
  if (summary.notes.empty()) return;
  *out << "<h2>What was assumed</h2><ul>\n";
  for (const std::string& note : summary.notes) *out << "<li>" << escape(note) << "\n";
  *out << "</ul>\n";
}

void versions(const BundleInfo& bundle, std::ostringstream* out) {
  *out << "<h2>Versions</h2><table>\n<tr><td>format<td>" << bundle.format_major << "."
       << bundle.format_minor << "\n<tr><td>written by<td>" << escape(bundle.producer)
       << "\n<tr><td>checksum<td><code>" << bundle.checksum << "</code>\n";
  for (const auto& [key, value] : bundle.info) {
    *out << "<tr><td>" << escape(key) << "<td><code>" << escape(value) << "</code>\n";
  }
  *out << "</table>\n";
}

}  // namespace

std::string html_report(const BundleInfo& bundle, const ExportSummary* summary) {
  std::ostringstream out;
  out << "<!doctype html><html lang=en><meta charset=utf-8>"
         "<meta name=viewport content=\"width=device-width\"><title>"
      << escape(bundle.path) << "</title><style>" << kStyle << "</style>\n<h1>"
      << escape(bundle.path) << "</h1>\n<p class=muted>"
      << (summary == nullptr ? "" : "from " + escape(summary->model)) << "</p>\n";
  for (const MethodInfo& method : bundle.methods) {
    cards(bundle, method, &out);
    interface_table(method, &out);
    if (summary != nullptr) check_table(*summary, &out);
    memory_plan(method, &out);
    module_table(method, &out);
    if (summary != nullptr) pass_table(*summary, &out);
    if (summary != nullptr) notes(*summary, &out);
    node_table(method, &out);
  }
  versions(bundle, &out);
  return out.str() + "</html>\n";
}

}  // namespace lazyrt
