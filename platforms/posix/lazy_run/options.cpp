#include "platforms/posix/lazy_run/options.h"

#include <CLI/CLI.hpp>
#include <iostream>

#include "lazyrt/backend_choice.h"

namespace lazyrt::run {
namespace {

constexpr const char* kAbout =
    "Runs a LazyRT bundle. Without inputs it runs the samples kept in the bundle and checks their\n"
    "outputs, which are eager PyTorch's.";

constexpr const char* kFooter =
    R"(Inputs are .npy files of the input's dtype and shape; i32 may feed an i64 input. Sizes that vary in the
bundle (lazy-export inspect names them) are those of the files.
--input-dir takes a folder with inputs.txt, one line "FILE DTYPE RANK DIMS..." for each input in
order, and those files as raw little-endian data.
An input given several times makes so many runs in a row, in which the bundle keeps its states: the first --input of a
name is for the first run. Inputs given once are the same in all of them.

With --json the last line of stdout is one JSON object. Of a run: inputs, outputs (name, file, shape,
dtype; of several runs: runs, each with variant and outputs), literals, states, variants (inputs, guards), the variant that ran, samples and their errors (types: of an output that has another dtype or shape),
taps (name, variant, node, value, dtype, shape, file; min, max and mean of what is finite, not_finite), self_test (device; refused: operators that the cpu runs), reference_nodes, copies (between the host's memory and devices'), plan_bytes, guard_refusals (each guard
that turned a run away from its variant, and how often). Of --list-devices: devices, reason (there are none). Of --bench: latencies_ms, median_ms, load_ms (open, verify, create
the session), first_ms, cpu_ms (of one run), vmhwm_kb, bytes (of the bundle), arena_bytes, workspace_bytes, packed_weight_bytes, state_bytes, plan_bytes (what runs keep
of the metadata), device_bytes, total_bytes (all that counts against --memory-limit). Progress goes to stderr.
Of texts that many entries may share (modules, files, guards, names in samples, variants and taps) at most 200 bytes are given, then "...".

Exit codes: 0 ok; 1 bad command line, or wrong name, dtype or shape of an input; 2 the bundle is
damaged, of a newer version or needs what this build lacks; 3 a file cannot be read or written; 4 an
output differs from the sample's beyond tolerance; 5 the run failed (these inputs take a path that was not
exported, an index out of range, no memory, more work than the limits allow, past the deadline).

Examples:
  lazy-run model.lzb
  lazy-run model.lzb --input x=image.npy --output-dir out --json
  lazy-run model.lzb --tap features.0 --output-dir out
  lazy-run voice.lzb --input x=frame0.npy --input x=frame1.npy --output-dir out
  lazy-run model.lzb --trace trace.json
  lazy-run model.lzb --bench 2 --threads 2)";

std::pair<std::string, std::string> split_input(const std::string& text) {
  const size_t at = text.find('=');
  if (at == std::string::npos || at == 0 || at + 1 == text.size()) {
    throw CLI::ValidationError("--input", "'" + text + "' is not NAME=FILE.npy");
  }
  return {text.substr(0, at), text.substr(at + 1)};
}

void add_options(CLI::App* app, Options* o, std::vector<std::string>* inputs) {
  app->add_option("bundle", o->bundle, "The .lzb file");
  app->add_option(
         "--input", *inputs,
         "NAME=FILE.npy, once for each input; an input given several times has a file for each of "
         "several runs in a row")
      ->allow_extra_args(false);
  app->add_option("--input-dir", o->input_dir, "Folder with inputs.txt and raw files");
  app->add_option("--output-dir", o->output_dir,
                  "Writes each output to this folder as NAME.npy; of several runs to its folders "
                  "run0, run1, ...");
  app->add_option("--raw-output", o->raw_output, "Writes the first output as raw float32");
  app->add_option("--tap", o->taps,
                  "Prints values that nodes compute in the first run, and writes them to taps/ in "
                  "--output-dir: takes a name, number or %value of lazy-export inspect --nodes, a "
                  "module's path for all values computed in it, or *; may be repeated")
      ->allow_extra_args(false);
  app->add_option("--trace", o->trace,
                  "Writes when each node ran, for Perfetto (ui.perfetto.dev) or chrome://tracing");
  app->add_option("--method", o->method, "The method to run")->default_str("forward");
  app->add_option("--backend", o->backend,
                  "cpu, reference, vulkan, or auto: vulkan where there is a device")
      ->check(CLI::IsMember(std::vector<std::string>(std::begin(BackendChoice::kNames),
                                                     std::end(BackendChoice::kNames))))
      ->capture_default_str();
  app->add_option("--device", o->device,
                  "The number of the Vulkan device (see --list-devices); default: the fastest kind")
      ->check(CLI::Range(0, 255));
  app->add_flag(
      "--list-devices", o->list_devices,
      "Runs nothing: lists Vulkan's devices with their numbers, and why one cannot be used");
  app->add_option("--cache", o->cache,
                  "A folder, made if there is none, for what Vulkan keeps between runs: compiled "
                  "pipelines, verdicts of self-tests");
  app->add_flag("--self-test", o->self_test,
                "Runs the bundle's samples on Vulkan first; operators with wrong results then run "
                "on the cpu. With --cache, only once for each device, driver and bundle");
  app->add_option("--threads", o->threads, "Threads, the calling one included")
      ->check(CLI::Range(1, 256))
      ->capture_default_str();
  app->add_option("--bench", o->bench_seconds, "Measures for this many seconds")
      ->check(CLI::Range(0.001, 86400.0));
  app->add_option(
         "--tolerance", o->tolerance,
         "Largest error of an output, relative to its largest expected value, unless the "
         "sample has its own tolerance; default: 1e-4, 0.0039 of float16, 0.031 of bfloat16")
      ->check(CLI::Range(0.0, 1.0));
  app->add_option("--deadline", o->deadline_seconds,
                  "Ends a run, between two nodes, after this many seconds")
      ->check(CLI::Range(0.0, 86400.0));
  app->add_option("--memory-limit", o->memory_limit,
                  "Most bytes that the run may take in addition to the file; 0: 4 GiB and room for "
                  "packed weights");
  app->add_option("--work-limit", o->work_limit,
                  "Most steps (about one multiply-add each) that a run may take; 0: 2^43");
  app->add_option(
      "--node-work-limit", o->node_work_limit,
      "Most steps of one node, and largest product of an empty tensor's other extents; 0: 2^40");
  app->add_option("--explain", o->explain,
                  "Runs nothing: prints the text of an error code (1a2b3c4d,7:12) from a library "
                  "built without texts, and the node of the bundle that it names");
  app->add_flag("--ops", o->ops,
                "Runs nothing: lists the operators, functions and types that the bundle uses, for "
                "lazyrt_selective");
  app->add_flag("--json", o->json, "Prints one JSON object");
  app->add_flag("--profile", o->profile, "Prints the time of each node");
  app->add_flag("--check-data", o->check_data, "Checks the checksum of constants and samples too");
}

}  // namespace

bool parse_options(int argc, char** argv, Options* options, ExitCode* code) {
  CLI::App app(kAbout, "lazy-run");
  app.footer(kFooter);
  app.set_version_flag("--version", "lazy-run " LAZYRT_VERSION);
  std::vector<std::string> inputs;
  add_options(&app, options, &inputs);
  try {
    app.parse(argc, argv);
    for (const std::string& text : inputs) options->inputs.push_back(split_input(text));
    if (options->bundle.empty() && !options->list_devices) throw CLI::RequiredError("bundle");
    const bool is_on_vulkan = options->backend == "vulkan" || options->backend == "auto";
    if (options->self_test && !is_on_vulkan)
      throw CLI::ValidationError("--self-test", "needs --backend vulkan or auto");
    if (!options->inputs.empty() && !options->input_dir.empty()) {
      throw CLI::ValidationError("--input", "cannot be used together with --input-dir");
    }
    return true;
  } catch (const CLI::ParseError& error) {
    const bool shown = app.exit(error, std::cout, std::cerr) == 0;
    *code = shown ? ExitCode::kOk : ExitCode::kUsage;
    return false;
  }
}

}  // namespace lazyrt::run
