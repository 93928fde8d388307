// What must hold for runs on Vulkan whatever the device: a line of a table for each bundle, of its
// first method. All nodes run on the device, or the bundle is refused.
//
//     vulkan_runs [--json FILE] BUNDLE...
//
// Exit code 1 where a run is not one submission and one wait, or where other sizes of inputs made
// pipelines; the text names the bundle. What is measured, and how, stands in README.md.

#include <stdlib.h>  // setenv

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <functional>
#include <string>
#include <vector>

#include "lazyrt/vulkan.h"
#include "platforms/posix/lazy_run/json_stream.h"
#include "runtime/backends/vulkan/api.h"
#include "tests/bench/plan_bound.h"

namespace {

using namespace lazyrt;
using bench::fail, bench::require;
using run::Json;
using Clock = std::chrono::steady_clock;

constexpr int kLeastRuns = 5, kMostRuns = 200;
constexpr double kSeconds = 0.5;  ///< of the measured runs

template <class T>
T take(Result<T> result) {
  require(result.status());
  return std::move(*result);
}

double milliseconds_since(Clock::time_point begin) {
  return std::chrono::duration<double, std::milli>(Clock::now() - begin).count();
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

// ----------------------------------------------------- the calling thread's time in the driver

double thread_microseconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return 1e6 * static_cast<double>(now.tv_sec) + 1e-3 * static_cast<double>(now.tv_nsec);
}

VulkanApi g_vulkan;
double g_in_submit = 0, g_in_wait = 0;  ///< microseconds since they were set to 0

VKAPI_ATTR VkResult VKAPI_CALL timed_submit(VkQueue queue, uint32_t count, const VkSubmitInfo* work,
                                            VkFence fence) {
  const double begin = thread_microseconds();
  const VkResult result = g_vulkan.QueueSubmit(queue, count, work, fence);
  g_in_submit += thread_microseconds() - begin;
  return result;
}

VKAPI_ATTR VkResult VKAPI_CALL timed_wait(VkDevice device, uint32_t count, const VkFence* fences,
                                          VkBool32 all, uint64_t timeout) {
  const double begin = thread_microseconds();
  const VkResult result = g_vulkan.WaitForFences(device, count, fences, all, timeout);
  g_in_wait += thread_microseconds() - begin;
  return result;
}

PFN_vkVoidFunction VKAPI_CALL device_function(VkDevice device, const char* name) {
  const PFN_vkVoidFunction found = g_vulkan.GetDeviceProcAddr(device, name);
  if (std::strcmp(name, "vkQueueSubmit") == 0) {
    g_vulkan.QueueSubmit = reinterpret_cast<PFN_vkQueueSubmit>(found);
    return reinterpret_cast<PFN_vkVoidFunction>(timed_submit);
  }
  if (std::strcmp(name, "vkWaitForFences") == 0) {
    g_vulkan.WaitForFences = reinterpret_cast<PFN_vkWaitForFences>(found);
    return reinterpret_cast<PFN_vkVoidFunction>(timed_wait);
  }
  return found;
}

PFN_vkVoidFunction VKAPI_CALL instance_function(VkInstance instance, const char* name) {
  const PFN_vkVoidFunction found = g_vulkan.get_instance_proc_addr(instance, name);
  if (std::strcmp(name, "vkGetDeviceProcAddr") != 0) return found;
  g_vulkan.GetDeviceProcAddr = reinterpret_cast<PFN_vkGetDeviceProcAddr>(found);
  return reinterpret_cast<PFN_vkVoidFunction>(device_function);
}

VulkanBackend make_backend(const char* cache_folder, bool staging = false) {
  VulkanOptions options;
  options.get_instance_proc_addr = instance_function;
  options.cache_folder = cache_folder;
  options.force_staging = staging;
  return take(VulkanBackend::create(options));
}

// ------------------------------------------------------------------------------------- inputs

/// An input at other sizes than the sample's: its elements again and again.
struct Input {
  std::vector<uint8_t> bytes;
  Shape shape;
};

Input fill(const TensorView& sample, const Shape& shape) {
  Input input;
  input.shape = shape;
  const auto* data = static_cast<const uint8_t*>(sample.data);
  const size_t element = dtype_size(sample.dtype), there = static_cast<size_t>(sample.numel());
  for (size_t i = 0; i < static_cast<size_t>(shape.numel()); ++i) {
    const uint8_t* from = data + i % there * element;
    input.bytes.insert(input.bytes.end(), from, from + element);
  }
  return input;
}

/// The sizes of the method's symbols in its first sample.
std::vector<int64_t> sample_sizes(const Method& method) {
  std::vector<int64_t> sizes(method.symbol_count());
  for (size_t i = 0; i < method.input_count(); ++i) {
    const Shape shape = method.sample_input(0, i).shape;
    for (int dim = 0; dim < shape.rank(); ++dim) {
      const ExtentInfo extent = method.input_extent(i, dim);
      if (extent.symbol < 0) continue;
      sizes[static_cast<size_t>(extent.symbol)] = (shape[dim] - extent.offset) / extent.factor;
    }
  }
  return sizes;
}

Shape shape_at(const Method& method, size_t input, const std::vector<int64_t>& sizes) {
  Shape shape = method.sample_input(0, input).shape;
  for (int dim = 0; dim < shape.rank(); ++dim) {
    const ExtentInfo extent = method.input_extent(input, dim);
    if (extent.symbol < 0) continue;
    shape[dim] = extent.factor * sizes[static_cast<size_t>(extent.symbol)] + extent.offset;
  }
  return shape;
}

void set_sample(Session* session, const Method& method) {
  for (size_t i = 0; i < method.input_count(); ++i)
    require(session->set_input(i, method.sample_input(0, i)));
}

void run_at(Session* session, const Method& method, const std::vector<int64_t>& sizes) {
  for (size_t i = 0; i < method.input_count(); ++i) {
    const TensorView sample = method.sample_input(0, i);
    Input input = fill(sample, shape_at(method, i, sizes));
    require(session->set_input(i, TensorView{input.bytes.data(), sample.dtype, input.shape}));
  }
  require(session->run());
}

// --------------------------------------------------------------------------- what is measured

Session open_session(const VulkanBackend& backend, const Method& method) {
  SessionOptions options;
  options.backend = backend.backend();
  return take(Session::create(method, options));
}

/// Milliseconds from nothing to the first result. `use` may go on with what there is then.
double first_inference(
    const std::string& path, const std::string& cache, bool staging,
    const std::function<void(const VulkanBackend&, Session*, const Method&)>& use) {
  const Clock::time_point begin = Clock::now();
  const VulkanBackend backend = make_backend(cache.c_str(), staging);
  const Program program = take(Program::open(path.c_str(), default_ops()));
  const Method method = program.method(0);
  if (method.sample_count() == 0) fail(path + ": no sample");
  Session session = open_session(backend, method);
  set_sample(&session, method);
  require(session.run());
  const double milliseconds = milliseconds_since(begin);
  use(backend, &session, method);
  return milliseconds;
}

void measure_runs(const VulkanBackend& backend, Session* session, Json* row) {
  std::vector<double> outside, in_submit;
  uint64_t submissions = 0, waits = 0;
  const VulkanStatistics begin = backend.statistics();
  const Clock::time_point begun = Clock::now();
  for (int i = 0; i < kMostRuns; ++i) {
    if (i >= kLeastRuns && milliseconds_since(begun) > 1e3 * kSeconds) break;
    const VulkanStatistics before = backend.statistics();
    g_in_submit = g_in_wait = 0;
    const double from = thread_microseconds();
    require(session->run());
    outside.push_back(thread_microseconds() - from - g_in_wait);
    in_submit.push_back(g_in_submit);
    const VulkanStatistics after = backend.statistics();
    submissions = std::max(submissions, after.submissions - before.submissions);
    waits = std::max(waits, after.waits - before.waits);
  }
  const VulkanStatistics end = backend.statistics();
  (*row)["submissions"] = submissions;
  (*row)["waits"] = waits;
  (*row)["dispatches"] = (end.dispatches - begin.dispatches) / outside.size();
  (*row)["cpu_us"] = median(outside);
  (*row)["submit_us"] = median(in_submit);
}

/// How many pipelines runs at other sizes make; of a method without symbols nothing.
void measure_sizes(const VulkanBackend& backend, Session* session, const Method& method,
                   Json* row) {
  if (method.symbol_count() == 0) return;
  const std::vector<int64_t> first = sample_sizes(method);
  const uint64_t pipelines = backend.statistics().pipelines;
  for (const int steps : {-1, 1, 3}) {  // -1: the smallest sizes
    std::vector<int64_t> sizes = first;
    for (size_t i = 0; i < sizes.size(); ++i) {
      const SymbolInfo symbol = method.symbol(i);
      const int64_t least = (symbol.min + symbol.multiple - 1) / symbol.multiple * symbol.multiple;
      const int64_t larger = first[i] + steps * symbol.multiple;
      sizes[i] = steps < 0 ? least : larger > symbol.max ? first[i] : larger;
    }
    run_at(session, method, sizes);
  }
  (*row)["pipelines_by_sizes"] = backend.statistics().pipelines - pipelines;
}

void measure_memory(const std::string& path, const VulkanBackend& backend, const Session& session,
                    Json* row) {
  const test::AlignedBytes file = bench::read_file(path);
  ProgramState program;
  bench::open_program(file, &program);
  const uint64_t arena = bench::lower_bound_of(program.method(0), program.sections, program);
  (*row)["device_bytes"] = backend.statistics().memory_bytes;
  (*row)["bound_bytes"] = arena + program.sections.constants.size() + session.stats().state_bytes;
}

/// What a run copies where the host does not share the device's memory.
void measure_copies(const VulkanBackend& backend, Session* session, Json* row) {
  require(session->run());  // states are there, the staging memory has its size
  const VulkanStatistics before = backend.statistics();
  require(session->run());
  const VulkanStatistics after = backend.statistics();
  (*row)["bytes_in"] = after.bytes_in - before.bytes_in;
  (*row)["bytes_out"] = after.bytes_out - before.bytes_out;
}

size_t count_nodes(const Session& session) {
  size_t nodes = 0;
  for (size_t i = 0; i < session.node_count(); ++i) nodes += !take(session.node(i)).is_copy;
  return nodes;
}

/// A new folder for both caches, ours and Mesa's of compiled shaders, which is gone at the end.
class CacheFolder {
 public:
  CacheFolder() {
    std::string name = (std::filesystem::temp_directory_path() / "vulkan_runs.XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr) fail("cannot make a folder " + name);
    path_ = name;
    ::setenv("MESA_SHADER_CACHE_DIR", name.c_str(), 1);
  }
  CacheFolder(const CacheFolder&) = delete;
  CacheFolder& operator=(const CacheFolder&) = delete;
  ~CacheFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

Json measure(const std::string& path) {
  Json row = {{"model", std::filesystem::path(path).stem().string()}};
  const CacheFolder cache;
  row["cold_ms"] =
      first_inference(path, cache.path(), false,
                      [&](const VulkanBackend& backend, Session* session, const Method& method) {
                        row["nodes"] = count_nodes(*session);
                        row["pipelines"] = backend.statistics().pipelines;
                        require(session->run());
                        measure_memory(path, backend, *session, &row);
                        measure_runs(backend, session, &row);
                        measure_sizes(backend, session, method, &row);
                      });
  const auto nothing = [](const VulkanBackend&, Session*, const Method&) {};
  row["warm_ms"] = first_inference(path, cache.path(), false, nothing);
  first_inference(path, cache.path(), true,
                  [&](const VulkanBackend& backend, Session* session, const Method&) {
                    measure_copies(backend, session, &row);
                  });
  return row;
}

// --------------------------------------------------------------------------------- the report

void print_head(const char* device) {
  std::printf(
      "On %s. CPU: time of the calling thread in a run outside waiting, and what of it is\n"
      "vkQueueSubmit. Copied: where memory is not shared.\n\n"
      "| model | submissions, waits | nodes | dispatches | CPU, µs | in submit, µs | µs a dispatch "
      "| "
      "copied in, kB | out, kB | device, MB | bound, MB | pipelines | by other sizes | "
      "first, cold, ms | warm, ms |\n"
      "|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|\n",
      device);
}

void print_row(const Json& row) {
  const auto number = [&](const char* key) { return row[key].get<double>(); };
  const std::string sizes =
      row.contains("pipelines_by_sizes") ? row["pipelines_by_sizes"].dump() : "–";
  std::printf(
      "| %s | %.0f, %.0f | %.0f | %.0f | %.0f | %.0f | %.2f | %.1f | %.1f | %.2f | %.2f | %.0f | "
      "%s | %.0f | %.0f |\n",
      row["model"].get<std::string>().c_str(), number("submissions"), number("waits"),
      number("nodes"), number("dispatches"), number("cpu_us"), number("submit_us"),
      number("cpu_us") / std::max(1.0, number("dispatches")), number("bytes_in") / 1e3,
      number("bytes_out") / 1e3, number("device_bytes") / 1e6, number("bound_bytes") / 1e6,
      number("pipelines"), sizes.c_str(), number("cold_ms"), number("warm_ms"));
  std::fflush(stdout);
}

/// What must hold and does not; "": all holds.
std::string what_is_wrong(const Json& row) {
  std::string text;
  for (const char* key : {"submissions", "waits"}) {
    if (row[key] != 1) text += " " + row[key].dump() + " " + key + " a run;";
  }
  const uint64_t pipelines = row.value("pipelines_by_sizes", uint64_t{0});
  if (pipelines != 0) text += " other sizes made " + std::to_string(pipelines) + " pipelines;";
  return text;
}

}  // namespace

int main(int argc, char** argv) {
  std::string json;
  std::vector<std::string> bundles(argv + 1, argv + argc);
  if (bundles.size() > 1 && bundles[0] == "--json") {
    json = bundles[1];
    bundles.erase(bundles.begin(), bundles.begin() + 2);
  }
  if (bundles.empty()) fail("usage: vulkan_runs [--json FILE] BUNDLE...");
  require(load_global_functions(&g_vulkan));
  {
    const VulkanBackend backend = make_backend(nullptr);  // the loader and driver are loaded, too
    print_head(backend.device_name());
  }
  Json rows = Json::array();
  std::string wrong;
  for (const std::string& bundle : bundles) {
    rows.push_back(measure(bundle));
    print_row(rows.back());
    const std::string text = what_is_wrong(rows.back());
    if (!text.empty()) wrong += bundle + ":" + text + "\n";
  }
  if (!json.empty() && !(std::ofstream(json) << run::dump(rows) << '\n').flush())
    fail("cannot write " + json);
  if (!wrong.empty()) fail(wrong);
  return 0;
}
