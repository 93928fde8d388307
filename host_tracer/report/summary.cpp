#include "host_tracer/report/summary.h"

#include <algorithm>
#include <cstdio>
#include <iomanip>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "host_tracer/graph/guards.h"
#include "host_tracer/report/bundle_text.h"
#include "host_tracer/support/printable.h"

namespace lazyrt {
namespace {

using Json = nlohmann::ordered_json;

std::string decimals(double value, const char* format) {
  char text[40];
  std::snprintf(text, sizeof text, format, value);
  return text;
}

void append_interface(const MethodInfo& method, std::ostringstream* out) {
  for (const DimSymbol& symbol : method.symbols)
    *out << "  size        " << printable(symbol.text()) << "\n";
  for (size_t v = 0; v < method.variants.size(); ++v) {
    const auto& symbols = method.variants[v].symbols;
    for (size_t i = 0; i < symbols.size(); ++i) {
      const std::string variant = "  variant " + std::to_string(v);
      const std::string begin = i == 0 ? variant : "";
      *out << begin << std::string(std::max<size_t>(begin.size(), 14) - begin.size(), ' ')
           << printable(symbols[i].text()) << "\n";
    }
  }
  for (const TensorLine& input : method.inputs) {
    *out << "  input       " << printable(input.name) << ": " << printable(input.type()) << "\n";
  }
  for (const TensorLine& output : method.outputs) {
    *out << "  output      " << printable(output.name) << ": " << printable(output.type()) << "\n";
  }
  for (const LiteralLine& literal : method.literals) {
    *out << "  output      " << printable(literal.name) << " = " << literal.text << "\n";
  }
}

void append_check(const ExportSummary& summary, std::ostringstream* out) {
  for (const std::string& sentence : check_sentences(summary.check)) {
    *out << "  check       " << sentence << "\n";
  }
  for (const CheckLine& line : summary.check.lines) {
    *out << "  check       " << printable(line.output) << ": error "
         << decimals(line.relative(), "%.1e") << " of eager's largest value, "
         << decimals(line.of_bound, "%.2g") << " of what is allowed"
         << (line.ok ? "" : ": TOO LARGE") << "\n";
  }
}

Json check_lines_json(const ExportSummary& summary) {
  Json list = Json::array();
  for (const CheckLine& line : summary.check.lines) {
    list.push_back({{"output", line.output},
                    {"max_absolute_error", line.max_absolute},
                    {"largest_value", line.max_value},
                    {"relative_error", line.relative()},
                    {"of_bound", line.of_bound},
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

Json source_json(const Source& source) {
  return {{"file", source.file}, {"line", source.line}, {"module", source.module_path}};
}

/// Lines of a report.
constexpr const char* kOutOfScope[] = {
    "not checked: switches and tables of the process and of libraries, identity, types, strides "
    "and",
    "gradients of the caller's tensors, inner state of objects in C, clocks, files, threads"};

Json findings_json(const std::vector<Finding>& findings) {
  Json list = Json::array();
  for (const Finding& finding : findings) {
    Json line = {{"severity", severity_name(finding.severity)},
                 {"id", finding.id},
                 {"message", finding.message},
                 {"suggestion", finding.suggestion},
                 {"allowed", finding.allowed}};
    line.update(source_json(finding.source));
    list.push_back(std::move(line));
  }
  return list;
}

std::map<std::string, int> allowed_ids(const std::vector<Finding>& findings) {
  std::map<std::string, int> counts;
  for (const Finding& finding : findings) {
    if (finding.allowed) ++counts[finding.id];
  }
  return counts;
}

Json guards_json(const std::vector<SeenGuard>& guards) {
  Json list = Json::array();
  for (const SeenGuard& guard : guards) {
    Json line = {{"text", guard.text}, {"seen", guard.seen}, {"check", guard.check}};
    line.update(source_json(guard.source));
    list.push_back(std::move(line));
  }
  return list;
}

Json syncs_json(const std::vector<TraceSync>& syncs) {
  Json list = Json::array();
  for (const TraceSync& sync : syncs) {
    Json line = {{"what", sync.what}, {"seen", sync.seen}, {"use", sync_use_name(sync.use)}};
    line.update(source_json(sync.source));
    list.push_back(std::move(line));
  }
  return list;
}

Json leaves_json(const std::vector<LeafLine>& leaves) {
  Json list = Json::array();
  for (const LeafLine& leaf : leaves) {
    list.push_back({{"kind", leaf.kind}, {"count", leaf.count}, {"bytes", leaf.bytes}});
  }
  return list;
}

Json hashes_json(const ExportSummary& summary) {
  return {{"traces", summary.traces},
          {"model_sha256", summary.model_sha256},
          {"bundle_sha256", summary.bundle_sha256},
          {"command_line", summary.command_line}};
}

const char* leaf_name(const TraceValue& value) {
  switch (value.leaf) {
    case LeafKind::kInput:
      return "input";
    case LeafKind::kParameter:
      return "parameter";
    case LeafKind::kBuffer:
      return "buffer";
    case LeafKind::kState:
      return "state";
    default:
      return value.wrapped_number ? "literal" : "constant";
  }
}

uint64_t bytes_of(const TraceValue& value) {
  uint64_t bytes = dtype_size(value.dtype);
  for (const int64_t extent : value.shape) bytes *= static_cast<uint64_t>(extent);
  return bytes;
}

void count_leaves(const Trace& trace, ExportSummary* summary) {
  for (const char* kind : {"input", "parameter", "buffer", "state", "constant", "literal"}) {
    LeafLine line;
    line.kind = kind;
    std::set<const uint8_t*> seen;
    for (const TraceValue& value : trace.values) {
      if (value.leaf == LeafKind::kNotLeaf || leaf_name(value) != line.kind) continue;
      ++line.count;
      const bool shared =
          value.constant.data != nullptr && !seen.insert(value.constant.data).second;
      if (!shared) line.bytes += bytes_of(value);
    }
    if (line.count > 0) summary->leaves.push_back(line);
  }
  LeafLine baked;
  baked.kind = "baked";
  for (const Finding& finding : trace.findings) baked.count += finding.id == "baked-value" ? 1 : 0;
  if (baked.count > 0) summary->leaves.push_back(baked);
}

std::string place_suffix(const Source& source) {
  const std::string where = source.text();
  return where.empty() ? "" : "  at " + where;
}

bool same_finding(const Finding& a, const Finding& b) {
  return a.id == b.id && a.message == b.message && a.source.text() == b.source.text();
}

void describe_findings(const Trace& trace, ExportSummary* summary) {
  for (const Finding& finding : trace.findings) {
    const bool known = std::any_of(summary->findings.begin(), summary->findings.end(),
                                   [&](const Finding& f) { return same_finding(f, finding); });
    if (!known) summary->findings.push_back(finding);
  }
  // Errors first, in the order of the trace.
  std::stable_sort(summary->findings.begin(), summary->findings.end(),
                   [](const Finding& a, const Finding& b) { return a.severity > b.severity; });
  for (const TraceGuard& guard : trace.guards) {
    summary->guards.push_back({guard.text, seen_text(guard.seen), guard.source, guard.check});
  }
  summary->syncs.insert(summary->syncs.end(), trace.syncs.begin(), trace.syncs.end());
  for (const TraceState& state : trace.states) {
    const std::string& name = trace.values[static_cast<size_t>(state.leaf)].name;
    const auto& names = summary->states;
    if (std::find(names.begin(), names.end(), name) == names.end()) summary->states.push_back(name);
  }
  summary->verdict = std::max(summary->verdict, verdict_of(trace));
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

void describe_notes(const std::vector<Trace>& traces, ExportSummary* summary) {
  std::vector<std::string>& notes = summary->notes;
  for (const Trace& trace : traces) {
    for (const std::string& note : trace.notes) {
      if (std::find(notes.begin(), notes.end(), note) == notes.end()) notes.push_back(note);
    }
  }
}

void describe_traces(const std::vector<Trace>& traces, ExportSummary* summary) {
  summary->producer = traces.front().producer;
  summary->traces = traces.size();
  for (const Trace& trace : traces) {
    summary->captured_nodes += trace.nodes.size();
    summary->shapes.meta += trace.shapes.meta;
    summary->shapes.rule += trace.shapes.rule;
    summary->shapes.cpu += trace.shapes.cpu;
    describe_findings(trace, summary);
  }
  describe_notes(traces, summary);
  count_parameters(traces.front(), summary);
  count_leaves(traces.front(), summary);
}

const char* finding_word(const Finding& finding) {
  return finding.allowed ? "allowed" : severity_name(finding.severity);
}

std::string out_of_scope_text() { return std::string(kOutOfScope[0]) + " " + kOutOfScope[1]; }

std::string runs_text(const ExportSummary& s) {
  if (s.captures == 0) return "";
  const auto count = [](size_t n, const char* what) {
    return std::to_string(n) + " " + what + (n == 1 ? "" : "s");
  };
  return count(s.captures, "capture") + ", " + count(s.eager_calls, "call") + " of eager";
}

std::string allowed_text(const ExportSummary& summary) {
  std::string text;
  for (const auto& [id, count] : allowed_ids(summary.findings)) {
    text += (text.empty() ? "" : ", ") + id + " " + std::to_string(count);
  }
  return text;
}

std::string verdict_text(const ExportSummary& s) {
  std::ostringstream out;
  out << "  verdict     " << verdict_name(s.verdict) << "\n";
  for (const char* line : kOutOfScope) out << "              " << line << "\n";
  const std::string allowed = allowed_text(s);
  if (!allowed.empty()) out << "  let through " << allowed << "\n";
  for (const Finding& finding : s.findings) {
    out << "  " << std::left << std::setw(12) << finding_word(finding) << finding.message << " ["
        << finding.id << "]" << place_suffix(finding.source) << "\n";
    if (!finding.suggestion.empty()) out << "              " << finding.suggestion << "\n";
  }
  for (const SeenGuard& guard : s.guards) {
    out << (guard.check ? "  check       " : "  guard       ") << printable(guard.text) << " = "
        << guard.seen << place_suffix(guard.source) << "\n";
  }
  for (const std::string& name : s.states) out << "  state       " << printable(name) << "\n";
  return out.str();
}

Json verdict_json(const ExportSummary& s) {
  return {{"verdict", verdict_name(s.verdict)}, {"findings", findings_json(s.findings)},
          {"allowed", allowed_ids(s.findings)}, {"guards", guards_json(s.guards)},
          {"syncs", syncs_json(s.syncs)},       {"states", s.states},
          {"leaves", leaves_json(s.leaves)},    {"notes", s.notes},
          {"out_of_scope", out_of_scope_text()}};
}

std::string summary_text(const ExportSummary& s) {
  const MethodInfo& method = method_of(s);
  std::ostringstream out;
  out << s.model << " -> " << s.bundle.path << "\n" << verdict_text(s);
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
  if (s.captures > 0) out << "  runs        " << runs_text(s) << "\n";
  out << "  seconds     trace " << decimals(s.seconds.trace, "%.2f") << ", passes "
      << decimals(s.seconds.passes, "%.2f") << ", emit " << decimals(s.seconds.emit, "%.2f")
      << ", check " << decimals(s.seconds.check, "%.2f") << "\n";
  return out.str();
}

Json summary_json(const ExportSummary& s) {
  const MethodInfo& method = method_of(s);
  Json json = verdict_json(s);
  json.update(
      {{"model", s.model},
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
       {"arena_lower_bound", s.plan.arena_lower_bound},
       {"workspace_bytes", method.workspace_bytes},
       {"packed_weight_bytes", method.packed_weight_bytes},
       {"flops", method.flops},
       {"shapes", {{"meta", s.shapes.meta}, {"rule", s.shapes.rule}, {"cpu", s.shapes.cpu}}},
       {"reference_nodes", reference_nodes_json(method)},
       {"session_error", method.session_error},
       {"check", check_lines_json(s)},
       {"checked", check_json(s.check)},
       {"unchecked", s.check.unchecked},
       {"captures", s.captures},
       {"eager_calls", s.eager_calls},
       {"seconds",
        {{"trace", s.seconds.trace},
         {"passes", s.seconds.passes},
         {"emit", s.seconds.emit},
         {"check", s.seconds.check}}}});
  json.update(hashes_json(s));
  return json;
}

}  // namespace lazyrt
