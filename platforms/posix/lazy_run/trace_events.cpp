#include "platforms/posix/lazy_run/trace_events.h"

#include <algorithm>
#include <chrono>

#include "platforms/posix/lazy_run/output_file.h"
#include "platforms/posix/lazy_run/text.h"

namespace lazyrt::run {
namespace {

/// Where the events are drawn: one process, the thread that calls run.
constexpr int kProcess = 1, kThread = 1;

struct KindText {
  const char* name;
  const char* category;
};

KindText text_of(RunSpan::Kind kind) {
  switch (kind) {
    case RunSpan::Kind::kRun:
      return {"run", "run"};
    case RunSpan::Kind::kBind:
      return {"bind other shapes", "bind"};
    case RunSpan::Kind::kInputs:
      return {"inputs", "copy"};
    case RunSpan::Kind::kNode:
      return {"node", "node"};
    case RunSpan::Kind::kCopy:
      return {"copy", "copy"};
    case RunSpan::Kind::kOutputs:
      return {"outputs and states", "copy"};
  }
  return {"", ""};
}

Json metadata(const char* what, const std::string& name) {
  return {{"ph", "M"},      {"name", what}, {"pid", kProcess},
          {"tid", kThread}, {"ts", 0},      {"args", {{"name", name}}}};
}

void add_if_any(const char* key, const std::string& text, Json* args) {
  if (!text.empty()) (*args)[key] = text;
}

}  // namespace

uint64_t TraceEvents::now_ns() {
  using namespace std::chrono;  // CLOCK_MONOTONIC, as the runtime's
  const auto now = steady_clock::now().time_since_epoch();
  return static_cast<uint64_t>(duration_cast<nanoseconds>(now).count());
}

void TraceEvents::add(const std::string& name, uint64_t begin) {
  Event event;
  event.name = name;
  event.category = "program";
  event.begin = begin;
  event.end = now_ns();
  events_.push_back(std::move(event));
}

void TraceEvents::take(const RunSpan& span) {
  if (events_.size() >= kMostEvents) {
    ++dropped_;
    return;
  }
  const KindText text = text_of(span.kind);
  Event event;
  event.name = text.name;
  event.category = text.category;
  event.begin = span.begin;
  event.end = span.end;
  event.nodes = span.nodes;
  event.ok = span.ok;
  if (span.node != nullptr) {
    event.node = *span.node;
    event.has_node = true;
    event.name = span.node->op;
    event.reason = span.node->fallback_reason;
  }
  events_.push_back(std::move(event));
}

Json TraceEvents::to_json(const Event& event, uint64_t zero) {
  Json args = Json::object();
  if (event.has_node) {
    const NodeInfo& node = event.node;
    args["backend"] = node.backend;
    add_if_any("aten", shortened(node.aten), &args);
    add_if_any("module", shortened(node.module_path), &args);
    if (node.file[0] != '\0')
      args["source"] = shortened(node.file) + ":" + std::to_string(node.line);
    add_if_any("fallback", event.reason, &args);
    if (node.is_copy) args["value"] = shortened(node.value), args["bytes"] = node.copied_bytes;
    if (event.nodes > 1) args["nodes"] = event.nodes;
    args["variant"] = node.variant;
  }
  if (!event.ok) args["failed"] = true;
  return {{"ph", "X"},
          {"name", event.name},
          {"cat", event.category},
          {"pid", kProcess},
          {"tid", kThread},
          {"ts", static_cast<double>(event.begin - zero) / 1e3},
          {"dur", static_cast<double>(event.end - event.begin) / 1e3},
          {"args", std::move(args)}};
}

void TraceEvents::write(const std::string& path, int threads, const Json& about) const {
  OutputFile file(path);
  print(threads, about, file.stream());
  file.commit();
}

void TraceEvents::print(int threads, const Json& about, std::FILE* out) const {
  const std::string workers =
      threads == 1 ? "run (1 thread)" : "run (" + std::to_string(threads) + " threads)";
  Json other = about;
  if (dropped_ != 0) other["events_left_out"] = dropped_;
  std::fprintf(out, "{\"displayTimeUnit\":\"ms\",\"otherData\":%s,\"traceEvents\":[\n%s,\n%s",
               dump(other).c_str(), dump(metadata("process_name", "lazy-run")).c_str(),
               dump(metadata("thread_name", workers)).c_str());
  uint64_t zero = UINT64_MAX;
  for (const Event& event : events_) zero = std::min(zero, event.begin);
  for (const Event& event : events_) std::fprintf(out, ",\n%s", dump(to_json(event, zero)).c_str());
  std::fputs("\n]}\n", out);
}

}  // namespace lazyrt::run
