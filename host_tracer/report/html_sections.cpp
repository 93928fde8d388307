#include "host_tracer/report/html_sections.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>

#include "host_tracer/report/bundle_text.h"
#include "host_tracer/report/html_text.h"
#include "host_tracer/report/memory_svg.h"
#include "host_tracer/report/module_costs.h"
#include "host_tracer/support/text_limit.h"

namespace lazyrt {
namespace {

constexpr size_t kOpenRows = 25;  ///< longer tables are folded
constexpr size_t kMostOpenModules = 60;

std::string heading(const char* id, const std::string& title) {
  return std::string("<h2 id=") + id + ">" + title + "</h2>\n";
}

/// A table in a panel; folded when it has many rows.
std::string table_panel(const std::string& table, size_t rows, const char* what) {
  const std::string inside = "<div class=scroll>" + table + "</div>";
  if (rows <= kOpenRows) return "<div class=panel>" + inside + "</div>\n";
  return "<details class=\"panel box\"><summary>" + std::to_string(rows) + " " + what +
         "</summary>" + inside + "</details>\n";
}

void card(std::ostringstream* out, const std::string& value, const std::string& label,
          const char* kind = "") {
  *out << "<div class=card><b class=\"" << kind << "\">" << html_escape(value) << "</b>" << label
       << "</div>\n";
}

std::string or_zero(const std::string& text) { return text.empty() ? "0" : text; }

}  // namespace

// ---------------------------------------------------------------- verdict

namespace {

const char* verdict_class(Verdict verdict) {
  switch (verdict) {
    case Verdict::kSound:
      return "good";
    case Verdict::kSpecialized:
      return "warn";
    case Verdict::kAllowed:
    case Verdict::kBroken:
      return "bad";
  }
  return "";
}

std::string plural(size_t count, const std::string& word) {
  return std::to_string(count) + " " + word + (count == 1 ? "" : "s");
}

/// "3 guards hold; the runtime checks them.", checks left out.
std::string guards_sentence(const ExportSummary& s) {
  const auto guards = static_cast<size_t>(std::count_if(
      s.guards.begin(), s.guards.end(), [](const SeenGuard& guard) { return !guard.check; }));
  if (guards == 0) return "";
  return "Right where " + plural(guards, "guard") + (guards == 1 ? " holds" : " hold") +
         "; the runtime checks " + (guards == 1 ? "it." : "them.");
}

std::string verdict_sentence(const ExportSummary& s) {
  if (s.verdict == Verdict::kSound) {
    return "Right for every input of these shapes and dtypes.";
  }
  if (s.verdict == Verdict::kBroken) {
    return "Values of the sample are in the graph: other inputs would give wrong results.";
  }
  if (s.verdict == Verdict::kAllowed) {
    return "Findings that fail an export were let through (" + allowed_text(s) +
           "): the results may be wrong for other inputs.";
  }
  std::string text = guards_sentence(s);
  const auto warnings =
      static_cast<size_t>(std::count_if(s.findings.begin(), s.findings.end(), [](const Finding& f) {
        return f.severity == Severity::kWarning;
      }));
  if (warnings > 0) text += (text.empty() ? "" : " ") + plural(warnings, "warning") + " to read.";
  return text;
}

}  // namespace

std::string verdict_section(const ExportSummary& s) {
  return std::string("<div class=\"verdict ") + verdict_class(s.verdict) + "\">" +
         verdict_name(s.verdict) + "</div><div><h1>" + html_escape(file_name(s.model)) +
         " <span class=soft>&rarr;</span> " + html_escape(file_name(s.bundle.path)) +
         "</h1><p class=soft>" + verdict_sentence(s) + "</p><p class=soft>" +
         html_escape(out_of_scope_text()) + "</p></div>";
}

std::string verdict_section(const BundleInfo& bundle) {
  std::string badge;
  for (const Verdict v : {Verdict::kSound, Verdict::kSpecialized, Verdict::kAllowed}) {
    if (bundle.verdict != verdict_name(v)) continue;
    badge =
        std::string("<div class=\"verdict ") + verdict_class(v) + "\">" + bundle.verdict + "</div>";
  }
  return badge + "<div><h1>" + html_escape(file_name(bundle.path)) + "</h1></div>";
}

std::string findings_section(const ExportSummary& s) {
  std::string out = heading("findings", "Findings");
  if (s.findings.empty()) {
    return out +
           "<p class=soft>None: no value of the sample went into the graph, nothing random, "
           "no side effect left out.</p>\n";
  }
  for (const Finding& finding : s.findings) {
    const std::string where = source_html(finding.source);
    out += std::string("<div class=\"finding ") + severity_name(finding.severity) +
           "\"><p><span class=\"tag " + severity_name(finding.severity) + "\">" +
           finding_word(finding) + "</span><code>" + html_escape(finding.id) + "</code>" +
           (where.empty() ? "" : " &nbsp;" + where) + "</p><p>" + html_escape(finding.message) +
           "</p>" +
           (finding.suggestion.empty() ? ""
                                       : "<p class=fix><b>Suggested edit:</b> " +
                                             html_escape(finding.suggestion) + "</p>") +
           "</div>\n";
  }
  return out;
}

std::string guards_section(const ExportSummary& s) {
  if (s.guards.empty()) return "";
  std::string table = "<table><tr><th class=n>#<th>kind<th>assumed<th>seen<th>where\n";
  for (size_t i = 0; i < s.guards.size(); ++i) {
    const SeenGuard& guard = s.guards[i];
    table += "<tr><td class=\"n soft\">" + std::to_string(i) +
             (guard.check ? "<td>check<td><code>" : "<td>guard<td><code>") +
             html_escape(guard.text) + "</code><td><code>" + html_escape(guard.seen) +
             "</code><td>" + source_html(guard.source) + "\n";
  }
  return heading("guards", "Guards") +
         "<p class=soft>The bundle is right only where these come out as they did for the sample. "
         "The runtime evaluates them and refuses other inputs, naming the line. Where a check "
         "fails, the "
         "model itself raises.</p>" +
         table_panel(table + "</table>", s.guards.size(), "guards");
}

std::string syncs_section(const ExportSummary& s) {
  if (s.syncs.empty()) return "";
  std::string table = "<table><tr><th>became<th>what<th>value seen<th>where\n";
  for (const TraceSync& sync : s.syncs) {
    const std::string use = sync_use_name(sync.use);
    table.append("<tr><td><span class=\"tag ").append(use).append("\">").append(use);
    table.append("</span><td><code>").append(html_escape(sync.what));
    table.append("</code><td><code>").append(html_escape(sync.seen)).append("</code><td>");
    table.append(source_html(sync.source)).append("\n");
  }
  return heading("syncs", "Values read on the host") +
         table_panel(table + "</table>", s.syncs.size(), "values");
}

// ---------------------------------------------------------------- leaves, passes, numerics

namespace {

const char* leaf_colour(const std::string& kind) {
  static const std::map<std::string, const char*> colours = {
      {"input", "#4c7ee0"}, {"parameter", "#46a86f"}, {"buffer", "#3fa9b8"},
      {"state", "#8a6fd0"}, {"constant", "#b9a23a"},  {"literal", "#8c96a3"},
      {"baked", "#d0605a"}};
  const auto it = colours.find(kind);
  return it == colours.end() ? "#8c96a3" : it->second;
}

const char* leaf_meaning(const std::string& kind) {
  static const std::map<std::string, const char*> meanings = {
      {"input", "given at each run"},
      {"parameter", "trained weights of the model"},
      {"buffer", "registered buffers that are only read"},
      {"state", "buffers that the model writes: kept in the session from run to run"},
      {"constant", "tensors that the code made from its own numbers"},
      {"literal", "Python numbers in the code"},
      {"baked", "values computed from the sample: wrong for other inputs"}};
  const auto it = meanings.find(kind);
  return it == meanings.end() ? "" : it->second;
}

}  // namespace

std::string leaves_section(const ExportSummary& s) {
  if (s.leaves.empty()) return "";
  uint64_t total = 0;
  for (const LeafLine& leaf : s.leaves) total += leaf.bytes;
  std::string stack = "<div class=stack>";
  std::string table = "<table><tr><th>leaf<th class=n>count<th class=n>bytes<th>what it is\n";
  for (const LeafLine& leaf : s.leaves) {
    const std::string colour = leaf_colour(leaf.kind);
    if (leaf.bytes > 0) {
      stack += "<i style=\"background:" + colour +
               ";flex:" + number_text(std::max(percent(leaf.bytes, total), 0.2), "%.2f") +
               "\" title=\"" + leaf.kind + "\"></i>";
    }
    table += std::string("<tr><td class=nowrap><span class=legend><span><i style=\"background:") +
             colour + "\"></i>" + leaf.kind + "</span></span><td class=n>" +
             std::to_string(leaf.count) + "<td class=n>" + bytes_text(leaf.bytes) +
             "<td class=" + (leaf.kind == "baked" ? "bad" : "soft") + ">" +
             leaf_meaning(leaf.kind) + "\n";
  }
  return heading("leaves", "Leaves of the graph") + stack + "</div>\n<div class=panel>" + table +
         "</table></div>\n";
}

std::string passes_section(const ExportSummary& s) {
  std::string out = heading("passes", "Passes") + "<p class=soft>" +
                    std::to_string(s.captured_nodes) + " ATen calls captured, " +
                    std::to_string(s.imported_nodes) +
                    " nodes imported. Result shapes: " + std::to_string(s.shapes.meta) +
                    " by meta kernels, " + std::to_string(s.shapes.rule) + " by rules, " +
                    std::to_string(s.shapes.cpu) + " by running the operator.</p>\n";
  if (s.passes.empty()) return out;
  size_t most = 1;
  for (const PassLine& pass : s.passes) most = std::max(most, pass.nodes_before);
  std::string table =
      "<table><tr><th>pass<th class=n>nodes before<th class=n>after<th class=n>changes<th "
      "class=n>ms<th>nodes left\n";
  for (const PassLine& pass : s.passes) {
    table += std::string("<tr") + (pass.changes == 0 ? " class=off" : "") + "><td><code>" +
             html_escape(pass.name) + "</code><td class=n>" + std::to_string(pass.nodes_before) +
             "<td class=n>" + std::to_string(pass.nodes_after) + "<td class=n>" +
             std::to_string(pass.changes) + "<td class=n>" +
             number_text(pass.milliseconds, "%.2f") + "<td class=w>" +
             bar_html(percent(pass.nodes_after, most)) + "\n";
  }
  return out + "<div class=\"panel scroll\">" + table + "</table></div>\n";
}

namespace {

/// The place of an error between 1e-4 and 1 times its bound, in percent.
double bound_percent(double of_bound) {
  if (!(of_bound > 0)) return 0;
  return std::clamp((std::log10(of_bound) + 4) / 4 * 100, 1.0, 100.0);
}

std::string check_row(const CheckLine& line) {
  return std::string("<tr><td><code>") + html_escape(line.output) + "</code><td class=n>" +
         number_text(line.max_absolute, "%.2e") + "<td class=n>" +
         number_text(line.max_value, "%.4g") + "<td class=n>" +
         number_text(line.relative(), "%.1e") + "<td class=\"n " + (line.ok ? "good" : "bad") +
         "\">" + number_text(line.of_bound, "%.2g") + "<td class=w><div class=\"meter" +
         (line.ok ? "" : " bad") +
         "\"><i style=\"width:" + number_text(bound_percent(line.of_bound), "%.1f%%") +
         "\"></i></div>\n";
}

}  // namespace

std::string numerics_section(const ExportSummary& s) {
  std::string out = heading("numerics", "Numbers beside eager PyTorch");
  for (const std::string& sentence : check_sentences(s.check)) {
    out += "<p class=soft>" + html_escape(sentence) + "</p>\n";
  }
  if (s.captures > 0) out += "<p class=soft>" + html_escape(runs_text(s)) + "</p>\n";
  if (s.check.lines.empty()) return out;
  std::string table =
      "<table><tr><th>output<th class=n>largest error<th class=n>eager's largest value<th "
      "class=n>error / value<th class=n>error / bound<th>1e-4 … 1: what is allowed\n";
  for (const CheckLine& line : s.check.lines) table += check_row(line);
  return out + table_panel(table + "</table>", s.check.lines.size(), "outputs");
}

std::string notes_section(const ExportSummary& s) {
  if (s.notes.empty()) return "";
  std::string list = "<table>";
  for (const std::string& note : s.notes) list += "<tr><td>" + html_escape(note) + "\n";
  return heading("notes", "Notes") + table_panel(list + "</table>", s.notes.size(), "notes");
}

// ---------------------------------------------------------------- the bundle

std::string cards_section(const BundleInfo& bundle, const MethodInfo& method,
                          const ExportSummary* summary) {
  std::ostringstream out;
  out << "<div class=cards>\n";
  card(&out, bytes_text(bundle.bytes), "bundle");
  if (summary) card(&out, or_zero(count_text(summary->parameter_count)), "parameters");
  card(&out, bytes_text(method.constant_bytes), "constants");
  card(&out, bytes_text(method.arena_bytes), "arena");
  card(&out, bytes_text(method.packed_weight_bytes), "packed weights");
  card(&out, or_zero(count_text(method.flops)), "FLOP a run");
  card(&out, std::to_string(method.nodes.size()), "nodes");
  const size_t slow = method.reference_nodes().size();
  card(&out, std::to_string(slow), "not on the fast backend", slow > 0 ? "warn" : "good");
  if (summary) {
    const StageTimes& t = summary->seconds;
    card(&out, number_text(t.trace + t.passes + t.emit, "%.2f s"), "to export");
  }
  out << "</div>\n";
  return out.str();
}

namespace {

void tensor_rows(const char* kind, const std::vector<TensorLine>& tensors, std::string* out) {
  for (const TensorLine& tensor : tensors) {
    *out += std::string("<tr><td>") + kind + "<td><code>" + html_escape(tensor.name) +
            "</code><td class=nowrap><code>" + html_escape(tensor.type()) + "</code>\n";
  }
}

}  // namespace

std::string interface_section(const MethodInfo& method) {
  std::string table = "<table><tr><th>kind<th>name<th>type\n";
  for (const DimSymbol& symbol : method.symbols) {
    const std::string bounds = symbol.text().substr(symbol.name.size() + 2);
    table += "<tr><td>size<td><code>" + html_escape(symbol.name) + "</code><td>" + bounds + "\n";
  }
  tensor_rows("input", method.inputs, &table);
  tensor_rows("output", method.outputs, &table);
  for (const LiteralLine& literal : method.literals) {
    table += "<tr><td>number<td><code>" + html_escape(literal.name) + "</code><td><code>" +
             html_escape(literal.text) + "</code>\n";
  }
  tensor_rows("state", method.states, &table);
  const size_t rows = method.symbols.size() + method.inputs.size() + method.outputs.size() +
                      method.literals.size() + method.states.size();
  return heading("interface", "Interface of <code>" + html_escape(method.name) + "</code>") +
         table_panel(table + "</table>", rows, "inputs and outputs");
}

std::string variants_section(const MethodInfo& method, bool with_guards) {
  const bool several = method.variants.size() > 1;
  const bool guarded = !method.variants.empty() && !method.variants[0].guards.empty();
  if (!several && !(with_guards && guarded)) return "";
  std::string table =
      "<table><tr><th class=n>#<th>takes<th class=n>nodes<th class=n>samples<th>guards\n";
  for (size_t i = 0; i < method.variants.size(); ++i) {
    const VariantLine& variant = method.variants[i];
    table += "<tr><td class=\"n soft\">" + std::to_string(i) + "<td>";
    for (const TensorLine& input : variant.inputs) {
      table +=
          "<code>" + html_escape(input.name) + ": " + html_escape(input.type()) + "</code><br>";
    }
    for (const DimSymbol& symbol : variant.symbols) table += html_escape(symbol.text()) + "<br>";
    table += "<td class=n>" + std::to_string(variant.nodes) + "<td class=n>" +
             std::to_string(variant.samples) + "<td>";
    for (const GuardLine& guard : variant.guards) {
      table += "<code>" + html_escape(guard.text) + "</code> is <code>" + html_escape(guard.seen) +
               "</code> <span class=soft>" + html_escape(guard.source) + "</span><br>";
    }
    table += "\n";
  }
  return heading("variants", "Variants") +
         "<p class=soft>A run takes the first whose shapes fit and whose guards hold; all share "
         "one "
         "store of weights. What follows is about the first.</p>" +
         table_panel(table + "</table>", method.variants.size(), "variants");
}

namespace {

struct Placement {
  size_t nodes = 0;
  uint64_t flops = 0;
  std::map<std::string, size_t> ops;
};

std::string ops_text(const std::map<std::string, size_t>& ops) {
  std::string text;
  for (const auto& [op, count] : ops) {
    text += (text.empty() ? "" : ", ") + html_escape(op) +
            (count > 1 ? " <span class=soft>&times;" + std::to_string(count) + "</span>" : "");
  }
  return text;
}

}  // namespace

std::string placement_section(const MethodInfo& method) {
  std::string out = heading("placement", "Who runs the nodes");
  if (!method.session_error.empty()) {
    return out + "<p class=bad>cpu cannot run it: " + html_escape(method.session_error) + "</p>\n";
  }
  std::map<std::pair<std::string, std::string>, Placement> places;  // (reason, backend)
  for (const NodeLine& node : method.nodes) {
    Placement& place = places[{node.reason, node.backend}];
    ++place.nodes;
    place.flops += node.flops;
    ++place.ops[node.op];
  }
  std::string table =
      "<table><tr><th>backend<th>why not the fast one<th class=n>nodes<th class=n>FLOP share<th>"
      "operators\n";
  for (const auto& [key, place] : places) {
    table += "<tr><td class=nowrap><code>" + html_escape(key.second) + "</code><td class=warn>" +
             html_escape(key.first) + "<td class=n>" + std::to_string(place.nodes) +
             "<td class=n>" + number_text(percent(place.flops, method.flops), "%.1f %%") + "<td>" +
             ops_text(place.ops) + "\n";
  }
  return out + table_panel(table + "</table>", places.size(), "groups");
}

namespace {

std::string module_row(const ModuleCost& module, const ModuleCost& root, const std::string& name) {
  const double share =
      percent(root.flops ? module.flops : module.nodes, root.flops ? root.flops : root.nodes);
  return "<div class=row><span class=name><code title=\"" + name + "\">" + name +
         "</code></span><span>" + count_text(module.flops) + "</span><span>" +
         count_text(module.parameters) + "</span><span>" +
         (module.constant_bytes ? bytes_text(module.constant_bytes) : "") + "</span><span>" +
         bytes_text(module.result_bytes) + "</span><span>" + std::to_string(module.nodes) +
         "</span>" + bar_html(share) + "</div>";
}

void append_module(const ModuleCost& module, const ModuleCost& root, int depth, bool open,
                   std::string* out) {
  const std::string name = html_escape(module.name.empty() ? "whole model" : module.name);
  const std::string row = module_row(module, root, name);
  const std::string indent = "style=\"padding-left:" + std::to_string(depth == 0 ? 0 : 16) + "px\"";
  if (module.children.empty()) {
    *out += "<div class=leaf " + indent + ">" + row + "</div>\n";
    return;
  }
  *out += std::string("<details ") + (open ? "open " : "") + indent + "><summary>" + row +
          "</summary>\n";
  const bool few = module.children.size() <= kMostOpenModules;
  for (const ModuleCost& child : module.children) {
    append_module(child, root, depth + 1, depth < 1 && few && root.children.size() == 1, out);
  }
  *out += "</details>\n";
}

}  // namespace

std::string modules_section(const MethodInfo& method) {
  if (method.nodes.empty()) return "";
  const ModuleCost root = module_costs(method);
  std::string out =
      heading("modules", "Cost by module") +
      "<p class=soft>FLOP: two for each multiply-add of convolutions, linear, matmul and recurrent "
      "nodes. A shared constant counts for its first reader. Click a row to open it.</p>"
      "<div class=\"panel tree\"><div class=\"row top\"><span>module</span><span>FLOP</span>"
      "<span>parameters</span><span>constants</span><span>results</span><span>nodes</span><span>"
      "share</span></div>\n";
  append_module(root, root, 0, true, &out);
  return out + "</div>\n";
}

std::string memory_section(const MethodInfo& method, const ExportSummary* summary) {
  std::string out = heading("memory", "Memory plan");
  out += "<p class=soft>Across: the nodes in order. Down: the arena of " +
         bytes_text(method.arena_bytes) +
         ". Each bar is a value, from the node that makes it to its last reader; point at it.";
  if (summary && summary->plan.arena_lower_bound > 0) {
    const PlanLine& plan = summary->plan;
    out += " No plan needs less than " + bytes_text(plan.arena_lower_bound) + " (this one takes " +
           number_text(static_cast<double>(method.arena_bytes) /
                           static_cast<double>(plan.arena_lower_bound),
                       "%.3f") +
           " times that); " + plural(plan.in_place, "node") + " in place, " +
           plural(plan.views, "view") + " for free, " + plural(plan.permutes, "permute") + ".";
  }
  return out + "</p>\n" + memory_svg(method);
}

std::string nodes_section(const MethodInfo& method, size_t index) {
  return heading("nodes", "Nodes") +
         "<details class=\"panel box\" data-nodes=" + std::to_string(index) + "><summary>" +
         std::to_string(method.nodes.size()) +
         " nodes in order of execution</summary><div class=tools><input type=search class=search "
         "placeholder=\"op, type, module, file…\"><label><input type=checkbox class=slow> not on "
         "the fast backend</label><span class=grow></span><span class=\"count soft\"></span>"
         "<button class=previous>‹</button><button class=next>›</button></div>"
         "<div class=scroll><table><thead><tr><th class=n>#<th>op<th>result<th class=n>FLOP<th>run "
         "by<th>from</thead><tbody></tbody></table></div><noscript><p class=soft>The table needs "
         "JavaScript; lazy-export inspect --nodes prints it, too.</p></noscript></details>\n";
}

namespace {

/// Texts of a table, each once.
class Strings {
 public:
  size_t id(const std::string& text) {
    const auto [it, is_new] = ids_.try_emplace(text, list_.size());
    if (is_new) list_.push_back(text);
    return it->second;
  }
  const std::vector<std::string>& list() const { return list_; }

 private:
  std::map<std::string, size_t> ids_;
  std::vector<std::string> list_;
};

std::string types_text(const MethodInfo& method, const NodeLine& node) {
  std::string text;
  for (const int id : node.outputs) {
    const ValueLine& value = method.values[static_cast<size_t>(id)];
    text += (text.empty() ? "" : " ") + tensor_text(value.dtype, value.shape);
  }
  return text;
}

}  // namespace

std::string nodes_json(const BundleInfo& bundle) {
  using Json = nlohmann::json;
  Strings strings;
  Json methods = Json::array();
  for (const MethodInfo& method : bundle.methods) {
    Json rows = Json::array();
    for (const NodeLine& node : method.nodes) {
      rows.push_back({strings.id(node.op), strings.id(node.attributes),
                      strings.id(types_text(method, node)), count_text(node.flops),
                      strings.id(node.backend), strings.id(node.reason), strings.id(node.aten),
                      strings.id(node.module_path), strings.id(node.source)});
    }
    methods.push_back(std::move(rows));
  }
  const Json all = {{"strings", strings.list()}, {"methods", std::move(methods)}};
  std::string text = all.dump(-1, ' ', /*ensure_ascii=*/true, Json::error_handler_t::replace);
  // "</script>" and "<!--" must not occur in a script element.
  for (size_t at = text.find('<'); at != std::string::npos; at = text.find('<', at)) {
    text.replace(at, 1, "\\u003c");
  }
  return text;
}

// ---------------------------------------------------------------- versions

namespace {

void pair_row(const std::string& key, const std::string& value, std::string* out) {
  if (value.empty()) return;
  *out +=
      "<tr><td class=nowrap>" + html_escape(key) + "<td><code>" + html_escape(value) + "</code>\n";
}

std::string times_panel(const StageTimes& t) {
  const std::pair<const char*, double> stages[] = {
      {"trace", t.trace}, {"passes", t.passes}, {"emit", t.emit}, {"check", t.check}};
  static constexpr const char* kColours[] = {"#4c7ee0", "#46a86f", "#e08a3c", "#8c96a3"};
  std::string stack = "<div class=stack>", legend = "<div class=legend>";
  for (size_t i = 0; i < 4; ++i) {
    stack += std::string("<i style=\"background:") + kColours[i] +
             ";flex:" + number_text(std::max(stages[i].second, 1e-3), "%.4f") + "\"></i>";
    legend += std::string("<span><i style=\"background:") + kColours[i] + "\"></i>" +
              stages[i].first + " " + number_text(stages[i].second, "%.2f s") + "</span>";
  }
  return "<h3>Time</h3>" + stack + "</div>" + legend + "</div>\n";
}

}  // namespace

std::string versions_section(const BundleInfo& bundle, const ExportSummary* summary) {
  std::string out = heading("versions", "Versions and hashes");
  std::string table = "<table>";
  if (summary) {
    pair_row("model", summary->model, &table);
    pair_row("model, SHA-256", summary->model_sha256, &table);
    pair_row("captured from", summary->producer, &table);
  }
  pair_row("bundle", bundle.path, &table);
  if (summary) pair_row("bundle, SHA-256", summary->bundle_sha256, &table);
  pair_row("bundle, own checksum", bundle.checksum, &table);
  if (!bundle.checksum.empty()) {
    pair_row("bundle format",
             std::to_string(bundle.format_major) + "." + std::to_string(bundle.format_minor),
             &table);
  }
  pair_row("written by", bundle.producer, &table);
  for (const auto& [key, value] : bundle.info) {
    if (key == "note" || (summary && key == "source")) continue;
    pair_row(key, shortened(value, 400), &table);
  }
  if (summary) pair_row("command", summary->command_line, &table);
  out += "<div class=panel>" + table + "</table></div>\n";
  return summary ? out + times_panel(summary->seconds) : out;
}

}  // namespace lazyrt
