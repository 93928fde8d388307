#include "platforms/posix/lazy_run/report.h"

#include <algorithm>
#include <cinttypes>
#include <cstdarg>
#include <cstdio>
#include <filesystem>
#include <system_error>

#include "platforms/posix/lazy_run/file_names.h"
#include "platforms/posix/lazy_run/npy.h"
#include "platforms/posix/lazy_run/process.h"

namespace lazyrt::run {

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

Json tensor_json(const TensorInfo& info) {
  return {
      {"name", info.name}, {"shape", shape_json(info.shape)}, {"dtype", dtype_name(info.dtype)}};
}

Json guard_json(const GuardInfo& guard) {
  const Json seen = guard.dtype == DType::kBool    ? Json(guard.integer != 0)
                    : guard.dtype == DType::kInt64 ? Json(guard.integer)
                                                   : Json(guard.real);
  return {{"text", guard.text}, {"seen", seen}, {"file", guard.file}, {"line", guard.line}};
}

/// What tells the variants of a method apart: input shapes and guards.
Json variants_json(const Method& method) {
  Json out = Json::array();
  for (size_t v = 0; v < method.variant_count(); ++v) {
    Json variant = {{"inputs", Json::array()}, {"guards", Json::array()}};
    for (size_t i = 0; i < method.input_count(); ++i)
      variant["inputs"].push_back(tensor_json(method.input(i, v)));
    for (size_t i = 0; i < method.guard_count(v); ++i)
      variant["guards"].push_back(guard_json(method.guard(i, v)));
    out.push_back(std::move(variant));
  }
  return out;
}

}  // namespace

Json refusals_json(const Method& method, const Session& session) {
  Json out = Json::array();
  for (size_t v = 0; v < method.variant_count(); ++v) {
    for (size_t i = 0; i < method.guard_count(v); ++i) {
      const uint64_t count = session.guard_refusals(i, v);
      if (count == 0) continue;
      Json entry = guard_json(method.guard(i, v));
      entry["variant"] = v;
      entry["count"] = count;
      out.push_back(std::move(entry));
    }
  }
  return out;
}

namespace {

Json node_json(const Session& session, size_t i) {
  const NodeInfo n = *session.node(i);
  Json out = {{"node", i},      {"variant", n.variant},    {"op", n.op},     {"backend", n.backend},
              {"aten", n.aten}, {"module", n.module_path}, {"file", n.file}, {"line", n.line}};
  if (n.is_copy) out["value"] = n.value, out["copied_bytes"] = n.copied_bytes;
  return out;
}

std::string format(const char* text, ...) __attribute__((format(printf, 1, 2)));
std::string format(const char* text, ...) {
  char line[400];
  va_list args;
  va_start(args, text);
  vsnprintf(line, sizeof(line), text, args);
  va_end(args);
  return line;
}

double total_ns(const Session& session) {
  double total = 0;
  for (size_t i = 0; i < session.node_count(); ++i) {
    total += static_cast<double>(session.node(i)->nanoseconds);
  }
  return total;
}

}  // namespace

Json write_outputs(const Method& method, const Session& session, const Options& options) {
  Json out = Json::array();
  FileNames files;
  if (!options.output_dir.empty()) make_folder(options.output_dir);
  for (size_t i = 0; i < method.output_count(); ++i) {
    const char* name = method.output(i).name;
    const TensorView view = output_of(session, i);
    Json entry = {{"name", name},
                  {"file", nullptr},
                  {"shape", shape_json(view.shape)},
                  {"dtype", dtype_name(view.dtype)}};
    if (!options.output_dir.empty()) {
      const std::string file =
          (std::filesystem::path(options.output_dir) / files.add(name)).string();
      write_npy(file, view);
      entry["file"] = file;
    }
    out.push_back(std::move(entry));
  }
  if (!options.raw_output.empty()) {
    if (method.output_count() == 0)
      throw Failure(ExitCode::kUsage, "--raw-output: the method has no output");
    const std::vector<float> values = as_floats(output_of(session, 0));
    write_file(options.raw_output, values.data(), values.size() * sizeof(float));
  }
  return out;
}

Json describe(const Method& method, const Session& session, const Options& options) {
  Json out = {{"bundle", options.bundle},
              {"method", method.name()},
              {"backend", options.backend},
              {"threads", options.threads},
              {"inputs", Json::array()}};
  for (size_t i = 0; i < method.input_count(); ++i) {
    out["inputs"].push_back(tensor_json(method.input(i)));
  }
  out["states"] = Json::array();
  for (size_t i = 0; i < method.state_count(); ++i)
    out["states"].push_back(tensor_json(method.state(i)));
  out["variants"] = variants_json(method);
  out["literals"] = Json::array();
  for (size_t i = 0; i < method.literal_count(); ++i) {
    const LiteralInfo l = method.literal(i);
    const Json value = l.dtype == DType::kBool ? Json(l.integer != 0)
                       : is_floating(l.dtype)  ? Json(l.real)
                                               : Json(l.integer);
    out["literals"].push_back({{"name", l.name}, {"position", l.position}, {"value", value}});
  }
  out["nodes"] = session.node_count();
  out["reference_nodes"] = Json::array();
  for (size_t i = 0; i < session.node_count(); ++i) {
    const NodeInfo n = *session.node(i);
    if (n.fallback_reason[0] == '\0') continue;
    Json entry = node_json(session, i);
    entry["reason"] = n.fallback_reason;
    out["reference_nodes"].push_back(std::move(entry));
  }
  out["copies"] = Json::array();
  for (size_t i = 0; i < session.node_count(); ++i) {
    if (session.node(i)->is_copy) out["copies"].push_back(node_json(session, i));
  }
  out["plan_bytes"] = session.stats().plan_bytes;
  return out;
}

Json to_json(const char* name, const Difference& d) {
  return {{"name", name},         {"max_abs_error", d.max_abs_error},
          {"largest", d.largest}, {"allowed", d.allowed},
          {"at", d.at},           {"ok", d.ok()}};
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

std::string dump(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::string profile_table(const Session& session) {
  std::vector<size_t> order(session.node_count());
  for (size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    return session.node(a)->nanoseconds > session.node(b)->nanoseconds;
  });
  const double total = std::max(total_ns(session), 1.0);
  std::string out = "  share  ms/run  node  op                   backend    from\n";
  for (size_t i : order) {
    const NodeInfo n = *session.node(i);
    const auto ns = static_cast<double>(n.nanoseconds);
    const double runs = static_cast<double>(std::max<uint64_t>(n.runs, 1));
    out += format(" %5.1f%% %7.3f %5zu  %-20s %-10s ", 100 * ns / total, ns * 1e-6 / runs, i, n.op,
                  n.backend);
    out += n.is_copy ? format("%s, %" PRIu64 " bytes\n", n.value, n.copied_bytes)
                     : format("%s (%s:%d)\n", n.module_path, n.file, n.line);
  }
  return out;
}

Json profile_json(const Session& session) {
  Json out = Json::array();
  for (size_t i = 0; i < session.node_count(); ++i) {
    const NodeInfo n = *session.node(i);
    Json entry = node_json(session, i);
    entry["ms"] = static_cast<double>(n.nanoseconds) * 1e-6 /
                  static_cast<double>(std::max<uint64_t>(n.runs, 1));
    out.push_back(std::move(entry));
  }
  return out;
}

}  // namespace lazyrt::run
