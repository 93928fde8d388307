#include "platforms/posix/lazy_run/report.h"

#include <algorithm>
#include <cinttypes>
#include <filesystem>
#include <system_error>
#include <utility>

#include "platforms/posix/lazy_run/file_names.h"
#include "platforms/posix/lazy_run/npy.h"
#include "platforms/posix/lazy_run/process.h"
#include "platforms/posix/lazy_run/text.h"

namespace lazyrt::run {

std::string type_text(DType dtype, const Shape& shape) {
  return std::string(dtype_name(dtype)) + shape_text(shape).text;
}

Json shape_json(const Shape& shape) {
  Json out = Json::array();
  for (int64_t d : shape) out.push_back(d);
  return out;
}

void make_folder(const std::string& path) {
  std::error_code error;
  std::filesystem::create_directories(path, error);
  if (error) throw Failure(ExitCode::kIo, "cannot create '" + path + "': " + error.message());
}

namespace {

TensorView output_of(const Session& session, size_t i) {
  const Result<TensorView> view = session.output(i);
  require(view.status());
  return *view;
}

NodeInfo node_of(const Session& session, size_t i) {
  const Result<NodeInfo> node = session.node(i);
  require(node.status());
  return *node;
}

Json tensor_json(const std::string& name, const TensorInfo& info) {
  return {{"name", name}, {"shape", shape_json(info.shape)}, {"dtype", dtype_name(info.dtype)}};
}

Json guard_json(const GuardInfo& guard) {
  const Json seen = guard.dtype == DType::kBool    ? Json(guard.integer != 0)
                    : guard.dtype == DType::kInt64 ? Json(guard.integer)
                                                   : Json(guard.real);
  return {{"text", shortened(guard.text)},
          {"seen", seen},
          {"file", shortened(guard.file)},
          {"line", guard.line}};
}

/// What tells the variants of a method apart: input shapes and guards.
void add_variants(const Method& method, JsonStream* json) {
  json->key("variants");
  json->begin_list();
  for (size_t v = 0; v < method.variant_count(); ++v) {
    json->begin_object();
    json->key("inputs");
    json->begin_list();
    for (size_t i = 0; i < method.input_count(); ++i) {
      const TensorInfo info = method.input(i, v);
      json->value(tensor_json(shortened(info.name), info));
    }
    json->end_list();
    json->key("guards");
    json->begin_list();
    for (size_t i = 0; i < method.guard_count(v); ++i) json->value(guard_json(method.guard(i, v)));
    json->end_list();
    json->end_object();
  }
  json->end_list();
}

Json literal_json(const LiteralInfo& l) {
  const Json value = l.dtype == DType::kBool ? Json(l.integer != 0)
                     : is_floating(l.dtype)  ? Json(l.real)
                                             : Json(l.integer);
  return {{"name", l.name}, {"position", l.position}, {"value", value}};
}

/// Inputs, states and literals: their names differ, so that each text of the file is here once.
void add_interface(const Method& method, JsonStream* json) {
  json->key("inputs");
  json->begin_list();
  for (size_t i = 0; i < method.input_count(); ++i)
    json->value(tensor_json(method.input(i).name, method.input(i)));
  json->end_list();
  json->key("states");
  json->begin_list();
  for (size_t i = 0; i < method.state_count(); ++i)
    json->value(tensor_json(method.state(i).name, method.state(i)));
  json->end_list();
  json->key("literals");
  json->begin_list();
  for (size_t i = 0; i < method.literal_count(); ++i) json->value(literal_json(method.literal(i)));
  json->end_list();
}

Json node_json(const NodeInfo& n, size_t i) {
  Json out = {{"node", i},
              {"variant", n.variant},
              {"op", n.op},
              {"backend", n.backend},
              {"aten", shortened(n.aten)},
              {"module", shortened(n.module_path)},
              {"file", shortened(n.file)},
              {"line", n.line}};
  if (n.is_copy) out["value"] = shortened(n.value), out["copied_bytes"] = n.copied_bytes;
  return out;
}

void add_reference_nodes(const Session& session, JsonStream* json) {
  json->key("reference_nodes");
  json->begin_list();
  for (size_t i = 0; i < session.node_count(); ++i) {
    const NodeInfo n = node_of(session, i);
    if (n.fallback_reason[0] == '\0') continue;
    Json entry = node_json(n, i);
    entry["reason"] = n.fallback_reason;
    json->value(entry);
  }
  json->end_list();
}

void add_copies(const Session& session, JsonStream* json) {
  json->key("copies");
  json->begin_list();
  for (size_t i = 0; i < session.node_count(); ++i) {
    const NodeInfo n = node_of(session, i);
    if (n.is_copy) json->value(node_json(n, i));
  }
  json->end_list();
}

Json checked_json(const char* name, const CheckedOutput& checked) {
  const Difference& d = checked.difference;
  Json out = {{"name", shortened(name)},
              {"max_abs_error", d.max_abs_error},
              {"largest", d.largest},
              {"allowed", d.allowed},
              {"at", d.at},
              {"ok", d.ok()}};
  if (!checked.types.empty()) out["types"] = checked.types;
  return out;
}

}  // namespace

void add_refusals(const Method& method, const Session& session, JsonStream* json) {
  json->key("guard_refusals");
  json->begin_list();
  for (size_t v = 0; v < method.variant_count(); ++v) {
    for (size_t i = 0; i < method.guard_count(v); ++i) {
      const uint64_t count = session.guard_refusals(i, v);
      if (count == 0) continue;
      Json entry = guard_json(method.guard(i, v));
      entry["variant"] = v;
      entry["count"] = count;
      json->value(entry);
    }
  }
  json->end_list();
}

void add_samples(const Method& method, const std::vector<CheckedSample>& samples,
                 JsonStream* json) {
  json->key("samples");
  json->begin_list();
  for (size_t s = 0; s < samples.size(); ++s) {
    json->begin_object();
    json->members({{"sample", s}, {"variant", samples[s].variant}, {"ok", samples[s].ok}});
    json->key("outputs");
    json->begin_list();
    for (size_t i = 0; i < samples[s].outputs.size(); ++i)
      json->value(checked_json(method.output(i).name, samples[s].outputs[i]));
    json->end_list();
    json->end_object();
  }
  json->end_list();
}

Json write_outputs(const Method& method, const Session& session, const Options& options,
                   const std::string& run) {
  Json out = Json::array();
  FileNames files;
  const std::filesystem::path folder = std::filesystem::path(options.output_dir) / run;
  if (!options.output_dir.empty()) make_folder(folder.string());
  for (size_t i = 0; i < method.output_count(); ++i) {
    const char* name = method.output(i).name;
    const TensorView view = output_of(session, i);
    Json entry = {{"name", name},
                  {"file", nullptr},
                  {"shape", shape_json(view.shape)},
                  {"dtype", dtype_name(view.dtype)}};
    if (!options.output_dir.empty()) {
      const std::string file = (folder / files.add(name)).string();
      write_npy(file, view);
      entry["file"] = file;
    }
    out.push_back(std::move(entry));
  }
  if (!options.raw_output.empty()) {
    if (method.output_count() == 0)
      throw Failure(ExitCode::kUsage, "--raw-output: the method has no output");
    write_floats(options.raw_output, output_of(session, 0));
  }
  return out;
}

void print_outputs(const Json& outputs, std::FILE* out) {
  for (const Json& o : outputs) {
    const std::string file = o["file"].is_null() ? "" : " -> " + o["file"].get<std::string>();
    std::fprintf(out, "%s %s%s%s\n", shown(o["name"].get<std::string>().c_str()).c_str(),
                 o["dtype"].get<std::string>().c_str(), o["shape"].dump().c_str(),
                 printable(file).c_str());
  }
}

void describe(const Method& method, const Session& session, const Options& options,
              JsonStream* json) {
  json->members({{"bundle", options.bundle},
                 {"method", method.name()},
                 {"backend", options.backend},
                 {"threads", options.threads}});
  add_interface(method, json);
  add_variants(method, json);
  json->member("nodes", session.node_count());
  add_reference_nodes(session, json);
  add_copies(session, json);
  json->member("plan_bytes", session.stats().plan_bytes);
}

Json bench_json(const Program& program, const Session& session, const Bench& bench,
                const StartTimes& times) {
  const SessionStats stats = session.stats();
  return {{"latencies_ms", bench.latencies_ms},
          {"median_ms", bench.median_ms()},
          {"load_ms", times.load_ms},
          {"first_ms", times.first_ms},
          {"cpu_ms", bench.cpu_ms},
          {"vmhwm_kb", peak_memory_kb()},
          {"bytes", program.bytes()},
          {"arena_bytes", stats.arena_bytes},
          {"workspace_bytes", stats.workspace_bytes},
          {"packed_weight_bytes", stats.packed_weight_bytes},
          {"state_bytes", stats.state_bytes},
          {"plan_bytes", stats.plan_bytes},
          {"device_bytes", stats.device_bytes},
          {"total_bytes", stats.total_bytes}};
}

void print_profile(const Session& session, std::FILE* out) {
  std::vector<std::pair<uint64_t, size_t>> order(session.node_count());
  double total = 0;
  for (size_t i = 0; i < order.size(); ++i) {
    order[i] = {node_of(session, i).nanoseconds, i};
    total += static_cast<double>(order[i].first);
  }
  total = std::max(total, 1.0);
  std::stable_sort(order.begin(), order.end(),
                   [](const auto& a, const auto& b) { return a.first > b.first; });
  std::fputs("  share  ms/run  node  op                   backend    from\n", out);
  for (const auto& [nanoseconds, i] : order) {
    const NodeInfo n = node_of(session, i);
    const auto ns = static_cast<double>(nanoseconds);
    const double runs = static_cast<double>(std::max<uint64_t>(n.runs, 1));
    std::fprintf(out, " %5.1f%% %7.3f %5zu  %-20s %-10s ", 100 * ns / total, ns * 1e-6 / runs, i,
                 printable(n.op).c_str(), n.backend);
    if (n.is_copy) {
      std::fprintf(out, "%s, %" PRIu64 " bytes\n", shown(n.value).c_str(), n.copied_bytes);
    } else {
      std::fprintf(out, "%s (%s:%d)\n", shown(n.module_path).c_str(), shown(n.file).c_str(),
                   n.line);
    }
  }
}

void add_profile(const Session& session, JsonStream* json) {
  json->key("profile");
  json->begin_list();
  for (size_t i = 0; i < session.node_count(); ++i) {
    const NodeInfo n = node_of(session, i);
    Json entry = node_json(n, i);
    entry["ms"] = static_cast<double>(n.nanoseconds) * 1e-6 /
                  static_cast<double>(std::max<uint64_t>(n.runs, 1));
    json->value(entry);
  }
  json->end_list();
}

}  // namespace lazyrt::run
