#include "host_tracer/trace/trace.h"

#include <algorithm>
#include <cstring>

#include "host_tracer/support/decimal_text.h"

namespace lazyrt {
namespace {

std::string value_text(TraceValueId id) {
  return id == kNoTraceValue ? "None" : std::string("%").append(std::to_string(id));
}

std::string item_text(bool v) { return v ? "True" : "False"; }
std::string item_text(int64_t v) { return std::to_string(v); }
std::string item_text(double v) { return decimal_text(v, 9); }
std::string item_text(TensorArg v) { return value_text(v.value); }

struct ArgText {
  std::string operator()(std::monostate) const { return "None"; }
  std::string operator()(bool v) const { return item_text(v); }
  std::string operator()(int64_t v) const { return item_text(v); }
  std::string operator()(double v) const { return item_text(v); }
  std::string operator()(const std::string& v) const { return "\"" + v + "\""; }
  std::string operator()(DType v) const { return dtype_name(v); }
  std::string operator()(TensorArg v) const { return item_text(v); }
  template <typename T>
  std::string operator()(const std::vector<T>& items) const {
    std::string s = "[";
    for (size_t i = 0; i < items.size(); ++i) {
      if (i) s += ", ";
      s += item_text(static_cast<T>(items[i]));
    }
    return s + "]";
  }
};

std::string type_text(const TraceValue& v) {
  std::string s = dtype_name(v.dtype);
  s += "[";
  for (size_t i = 0; i < v.shape.size(); ++i) {
    if (i) s += ",";
    s += std::to_string(v.shape[i]);
  }
  return s + "]";
}

const char* leaf_text(LeafKind kind) {
  switch (kind) {
    case LeafKind::kNotLeaf:
      return "node";
    case LeafKind::kInput:
      return "input";
    case LeafKind::kParameter:
      return "parameter";
    case LeafKind::kState:
      return "state";
    case LeafKind::kBuffer:
      return "buffer";
    case LeafKind::kConstant:
      return "constant";
  }
  return "?";
}

/// The value of a one-element constant, as a hint for the reader.
std::string small_constant_text(const TraceValue& v) {
  if (!v.constant.data || v.constant.bytes != dtype_size(v.dtype)) return "";
  const uint8_t* p = v.constant.data;
  switch (v.dtype) {
    case DType::kFloat32: {
      float f;
      __builtin_memcpy(&f, p, sizeof(f));
      return " = " + decimal_text(f, 9);
    }
    case DType::kFloat64: {
      double d;
      __builtin_memcpy(&d, p, sizeof(d));
      return " = " + decimal_text(d, 9);
    }
    case DType::kInt64: {
      int64_t i;
      __builtin_memcpy(&i, p, sizeof(i));
      return " = " + std::to_string(i);
    }
    case DType::kBool:
      return *p ? " = True" : " = False";
    default:
      return "";
  }
}

std::string leaf_line(TraceValueId id, const TraceValue& v) {
  std::string s = value_text(id) + ": " + type_text(v) + " = " + leaf_text(v.leaf);
  if (!v.name.empty()) s += " \"" + v.name + "\"";
  if (v.wrapped_number) s += " number";
  if (v.leaf == LeafKind::kConstant) s += small_constant_text(v);
  return s + "\n";
}

std::string node_line(const Trace& trace, const TraceNode& node) {
  std::string s;
  for (size_t i = 0; i < node.outputs.size(); ++i) {
    if (i) s += ", ";
    s += value_text(node.outputs[i]);
    if (node.outputs[i] == kNoTraceValue) continue;
    s += ": " + type_text(trace.values[static_cast<size_t>(node.outputs[i])]);
  }
  s += " = " + node.full_name() + "(";
  for (size_t i = 0; i < node.args.size(); ++i) {
    if (i) s += ", ";
    s += node.args[i].first + "=" + std::visit(ArgText{}, node.args[i].second);
  }
  s += ")";
  const std::string where = node.source.text();
  if (!where.empty()) s += "  # " + where;
  return s + "\n";
}

std::string output_line(const TraceOutput& out) {
  std::string s = "return ";
  if (out.literal) {
    s += std::visit([](auto v) { return item_text(v); }, *out.literal);
  } else {
    s += value_text(out.value);
  }
  if (!out.name.empty()) s += "  # " + out.name;
  return s + "\n";
}

std::string guard_line(const TraceGuard& guard) {
  std::string s = (guard.check ? "check " : "guard ") + value_text(guard.value) + " == ";
  s += std::visit([](auto v) { return item_text(v); }, guard.seen);
  const std::string where = guard.source.text();
  return s + "  # " + guard.text + (where.empty() ? "" : " at " + where) + "\n";
}

}  // namespace

bool same_bytes(const ConstantData& a, const ConstantData& b) {
  if (a.bytes != b.bytes || (a.data == nullptr) != (b.data == nullptr)) return false;
  return a.data == b.data || a.bytes == 0 || std::memcmp(a.data, b.data, a.bytes) == 0;
}

std::string Source::text() const {
  std::string s = module_path;
  if (file.empty()) return s;
  const std::string place = line > 0 ? file + ":" + std::to_string(line) : file;
  return s.empty() ? place : s + " (" + place + ")";
}

const TraceArg* TraceNode::find(const std::string& name) const {
  for (const auto& [key, value] : args) {
    if (key == name) return &value;
  }
  return nullptr;
}

std::string Trace::text() const {
  std::string s;
  for (size_t i = 0; i < values.size(); ++i) {
    if (values[i].leaf == LeafKind::kNotLeaf) continue;
    s += leaf_line(static_cast<TraceValueId>(i), values[i]);
  }
  for (const TraceNode& node : nodes) s += node_line(*this, node);
  for (const TraceGuard& guard : guards) s += guard_line(guard);
  for (const TraceState& state : states) {
    s += "state " + value_text(state.leaf) + " <- " + value_text(state.next) + "\n";
  }
  for (const TraceOutput& out : outputs) s += output_line(out);
  return s;
}

namespace {

/// The guard by which a run finds the variant of its phase assumes nothing about the inputs.
bool is_of_phase(const Trace& trace, const TraceGuard& guard) {
  const TraceValue& value = trace.values[static_cast<size_t>(guard.value)];
  return value.leaf == LeafKind::kState && value.name == kPhaseState;
}

}  // namespace

std::optional<int64_t> phase_of(const Trace& trace) {
  for (const TraceGuard& guard : trace.guards) {
    if (is_of_phase(trace, guard)) return std::get<int64_t>(guard.seen);
  }
  return std::nullopt;
}

Verdict verdict_of(const Trace& trace) {
  Verdict verdict = Verdict::kSound;
  const auto at_least = [&](Verdict other) { verdict = std::max(verdict, other); };
  for (const TraceGuard& guard : trace.guards) {
    if (!guard.check && !is_of_phase(trace, guard)) at_least(Verdict::kSpecialized);
  }
  for (const Finding& finding : trace.findings) {
    if (finding.allowed) at_least(Verdict::kAllowed);
    if (finding.severity == Severity::kWarning) at_least(Verdict::kSpecialized);
    if (finding.severity == Severity::kError) at_least(Verdict::kBroken);
  }
  return verdict;
}

Verdict verdict_of(const std::vector<Trace>& traces) {
  Verdict worst = Verdict::kSound;
  for (const Trace& trace : traces) worst = std::max(worst, verdict_of(trace));
  return worst;
}

const char* severity_name(Severity severity) {
  switch (severity) {
    case Severity::kNote:
      return "note";
    case Severity::kWarning:
      return "warning";
    case Severity::kError:
      return "error";
  }
  return "";
}

const char* sync_use_name(SyncUse use) {
  switch (use) {
    case SyncUse::kNote:
      return "note";
    case SyncUse::kGuard:
      return "guard";
    case SyncUse::kCheck:
      return "check";
    case SyncUse::kBaked:
      return "baked";
  }
  return "";
}

const char* verdict_name(Verdict verdict) {
  switch (verdict) {
    case Verdict::kSound:
      return "SOUND";
    case Verdict::kSpecialized:
      return "SPECIALIZED";
    case Verdict::kAllowed:
      return "ALLOWED";
    case Verdict::kBroken:
      return "BROKEN";
  }
  return "?";
}

}  // namespace lazyrt
