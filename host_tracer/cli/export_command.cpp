#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>

#include "host_tracer/cli/c_array.h"
#include "host_tracer/cli/capture_model.h"
#include "host_tracer/cli/commands.h"
#include "host_tracer/cli/console.h"
#include "host_tracer/cli/dynamic_spec.h"
#include "host_tracer/cli/input_spec.h"
#include "host_tracer/cli/interrupt.h"
#include "host_tracer/cli/progress.h"
#include "host_tracer/compile/sized_traces.h"
#include "host_tracer/export/publish.h"
#include "host_tracer/frontends/shared/join_interfaces.h"
#include "host_tracer/report/html.h"
#include "host_tracer/report/sha256.h"
#include "host_tracer/report/summary.h"
#include "host_tracer/support/partial_file.h"
#include "host_tracer/trace/allow.h"

namespace lazyrt {
namespace {

namespace fs = std::filesystem;

/// A failure, with the exit code for the stage in which it happened.
struct Stop {
  Failure failure;
  Exit code;
  nlohmann::ordered_json details = nlohmann::ordered_json::object();  ///< more for --json
};

/// One run of `lazy-export MODEL -o OUT.lzb`, stage by stage. The bundle is made beside OUT.lzb and
/// moved there at the very end.
class Export {
 public:
  explicit Export(const ExportArguments& arguments)
      : args_(arguments),
        partial_(PartialFile::path_for(arguments.output)),
        interrupted_(partial_),
        interrupted_writing_(PartialFile::path_for(partial_)),
        interrupted_report_(arguments.report.empty() ? ""
                                                     : PartialFile::path_for(arguments.report)),
        progress_(std::make_unique<Progress>(!arguments.quiet)) {}

  /// Throws Stop.
  void run() {
    check_arguments();
    capture();
    if (summary_.verdict == Verdict::kBroken) stop_broken();
    capture_other_sizes();
    publish();
    progress_.reset();
    print();
  }

 private:
  void check_arguments();
  std::vector<std::vector<GivenInput>> samples() const;
  CaptureSettings settings();
  void capture();
  void refuse_other_numbers(const std::string& name, const std::vector<GivenInput>& inputs) const;
  Outcome<std::vector<Trace>> capture_alike(std::vector<GivenInput> inputs);
  void add_sample(std::vector<GivenInput> inputs);
  std::vector<DynamicDim> varying_dims() const;
  std::vector<GivenInput> inputs_at(const std::vector<SampleTensor>& tensors) const;
  Outcome<Trace> capture_at(const std::vector<SampleTensor>& inputs, bool compared);
  void capture_other_sizes();
  void describe_others();
  [[noreturn]] void stop_at_sizes(const Failure& failure) const;
  void stop_broken();
  ExportJob job();
  void publish();
  void write_c_source() const;
  void print() const;
  void dump(const std::string& pass, const Graph& graph) const;
  bool dumps(const std::string& pass) const;

  const ExportArguments& args_;
  const std::string partial_;
  const RemoveOnInterrupt interrupted_, interrupted_writing_, interrupted_report_;
  std::unique_ptr<Progress> progress_;
  /// One for each sample and phase, or a single one if extents vary; at least one.
  std::vector<Trace> traces_;
  size_t captured_ = 0;                ///< samples, as far as extents do not vary
  std::optional<std::string> phases_;  ///< of a TorchScript program
  CheckLevel level_ = CheckLevel::kFull;
  std::string interface_;          ///< nesting of arguments and result, if the front end knows it
  std::vector<DynamicDim> asked_;  ///< --dynamic
  std::vector<DynamicDim> dims_;   ///< dims that vary, from --dynamic and the file
  std::vector<SampleInputs> more_samples_;        ///< where extents vary, beside the first
  std::optional<std::vector<Pt2Dim>> file_dims_;  ///< that vary in a .pt2
  std::optional<DynamicExport> dynamic_;          ///< then the traces are at several sizes
  bool broken_elsewhere_ = false;                 ///< the last capture at other sizes
  ExportSummary summary_;
};

std::map<std::string, SeenNumber> numbers_in(const std::vector<GivenInput>& inputs) {
  std::map<std::string, SeenNumber> numbers;
  for (const GivenInput& input : inputs) {
    if (input.number) numbers.emplace(input.name, *input.number);
  }
  return numbers;
}

double seconds_since(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

Failure phases_at_sizes() {
  return {Error::kUnsupported,
          "attributes of the program take several forms (None, flags, lengths, shapes) in a row of "
          "calls, which lazy-export follows for fixed sizes only: leave --dynamic out, or export "
          "it from Python: lazyrt.export(torch.jit.load(path), args, out, dynamic={...})"};
}

[[noreturn]] void stop(const Failure& failure) { throw Stop{failure, exit_code(failure.error)}; }

bool Export::dumps(const std::string& pass) const {
  const auto& wanted = args_.dump_after;
  return std::any_of(wanted.begin(), wanted.end(),
                     [&](const std::string& name) { return name == "all" || name == pass; });
}

void Export::dump(const std::string& pass, const Graph& graph) const {
  if (dumps(pass)) {
    std::fprintf(stderr, "# after %s\n%s\n", pass.c_str(), graph_text(graph).c_str());
  }
}

/// Checks what can be refused before the model is read.
void Export::check_arguments() {
  const std::vector<std::string> points = dump_points(default_pipeline());
  for (const std::string& name : args_.dump_after) {
    if (name == "all" || std::find(points.begin(), points.end(), name) != points.end()) continue;
    std::string text = "--dump-after: no pass '" + name + "'; there are all";
    for (const std::string& point : points) text += ", " + point;
    stop({Error::kInvalidArgument, text});
  }
  if (!parse_check_level(args_.check, &level_)) {
    stop({Error::kInvalidArgument, "--check: no level '" + args_.check + "'"});
  }
  auto asked = parse_dynamic_specs(args_.dynamic);
  if (!asked.ok()) stop(asked.failure());
  asked_ = std::move(*asked);
  if (!args_.c_array.empty() && !is_array_name(args_.c_array)) stop(no_array_name(args_.c_array));
  std::error_code ignored;
  if (!fs::exists(args_.model, ignored)) stop({Error::kNotFound, "no file " + args_.model});
  if (!fs::is_regular_file(args_.model, ignored)) {
    stop({Error::kIo, args_.model + " is not a regular file"});
  }
  const fs::path folder = fs::absolute(args_.output).parent_path();
  if (!fs::is_directory(folder, ignored)) {
    throw Stop{
        {Error::kNotFound, "cannot write " + args_.output + ": no folder " + folder.string()},
        Exit::kIo};
  }
  if (fs::is_directory(args_.output, ignored)) {
    stop({Error::kIo, "cannot write " + args_.output + ": it is a folder"});
  }
}

/// The inputs of each trace: --input, overridden by each --sample.
std::vector<std::vector<GivenInput>> Export::samples() const {
  auto common = parse_input_specs(args_.inputs);
  if (!common.ok()) stop(common.failure());
  std::vector<std::vector<GivenInput>> all;
  for (const std::string& text : args_.samples) {
    auto sample = parse_sample_spec(text);
    if (!sample.ok()) stop({sample.failure().error, "--sample: " + sample.failure().text});
    all.push_back(override_inputs(*common, *sample));
  }
  if (all.empty()) all.push_back(std::move(*common));
  return all;
}

CaptureSettings Export::settings() {
  CaptureSettings settings;
  settings.sample_outputs = level_ != CheckLevel::kNone || !args_.strip_samples;
  settings.second_trace = args_.second_trace;
  settings.allow = args_.allow;
  settings.progress = [this](const char* stage, int64_t done, int64_t total) {
    progress_->report(stage, done, total);
  };
  settings.interface = &interface_;
  settings.file_dims = &file_dims_;
  settings.phases = &phases_;
  return settings;
}

void Export::capture() {
  const auto begin = std::chrono::steady_clock::now();
  for (std::vector<GivenInput>& inputs : samples()) {
    if (!dims_.empty()) {
      add_sample(std::move(inputs));
      continue;
    }
    auto traces = captured_++ == 0 ? capture_model(args_.model, std::move(inputs), settings())
                                   : capture_alike(std::move(inputs));
    if (!traces.ok()) stop(traces.failure());
    for (Trace& trace : *traces) {
      if (args_.dump_trace) std::fputs(trace.text().c_str(), stderr);
      traces_.push_back(std::move(trace));
    }
    if (captured_ == 1) dims_ = varying_dims();
    if (!dims_.empty() && traces_.size() > 1) stop(phases_at_sizes());
  }
  describe_traces(traces_, &summary_);
  for (std::string& line : idle_allowances(args_.allow, summary_.findings)) {
    summary_.notes.push_back(std::move(line));
  }
  summary_.model = args_.model;
  summary_.command_line = args_.command_line;
  summary_.seconds.trace = seconds_since(begin);
  auto hash = file_sha256(args_.model);
  if (hash.ok()) summary_.model_sha256 = std::move(*hash);
}

void Export::refuse_other_numbers(const std::string& name,
                                  const std::vector<GivenInput>& inputs) const {
  if (numbers_in(inputs) == numbers_in(samples()[0])) return;
  stop({Error::kInvalidArgument, name + " has other numbers than the first sample, and a bundle "
                                        "has one value for each: export a bundle for each sample"});
}

/// Captures a later sample. A value that is not a tensor is in the bundle only once.
Outcome<std::vector<Trace>> Export::capture_alike(std::vector<GivenInput> inputs) {
  const std::string name = "sample " + std::to_string(captured_ - 1);
  refuse_other_numbers(name, inputs);
  CaptureSettings settings = this->settings();
  std::string interface;
  settings.interface = &interface;
  auto traces = capture_model(args_.model, std::move(inputs), settings);
  if (!traces.ok()) return Failure{traces.failure().error, name + ": " + traces.failure().text};
  if (!join_interfaces(interface, &interface_)) {
    stop({Error::kInvalidArgument,
          name + " has other texts, flags or infinite numbers among its arguments or results than "
                 "the first sample, or nests them differently: export a bundle for each sample"});
  }
  return traces;
}

// ---------------------------------------------------------------- dims that vary

/// A sample beside the first one.
void Export::add_sample(std::vector<GivenInput> inputs) {
  const std::string name = "sample " + std::to_string(more_samples_.size() + 1);
  refuse_other_numbers(name, inputs);
  CaptureSettings settings = this->settings();
  settings.sample_outputs = settings.second_trace = false;
  std::string interface;
  settings.interface = &interface;
  auto traces = capture_model(args_.model, std::move(inputs), settings);
  if (!traces.ok()) stop({traces.failure().error, name + ": " + traces.failure().text});
  more_samples_.push_back(std::move(traces->front().sample_inputs));
}

/// The dims that vary, from --dynamic and the file; none with --static.
std::vector<DynamicDim> Export::varying_dims() const {
  if (args_.use_sample_shape) return {};
  auto asked = places_in(asked_, traces_[0]);
  if (!asked.ok()) stop({asked.failure().error, "--dynamic: " + asked.failure().text});
  if (!file_dims_) return std::move(*asked);
  auto dims = dims_of_file(*file_dims_, *asked);
  if (!dims.ok()) stop(dims.failure());
  return std::move(*dims);
}

/// The sample's inputs with other tensors; Python numbers stay.
std::vector<GivenInput> Export::inputs_at(const std::vector<SampleTensor>& tensors) const {
  std::vector<GivenInput> inputs = samples()[0];
  std::erase_if(inputs, [](const GivenInput& input) { return !input.number; });
  const Trace& sample = traces_[0];
  for (size_t i = 0; i < tensors.size(); ++i) {
    const TraceValue& value = sample.values[static_cast<size_t>(sample.inputs[i])];
    inputs.push_back({value.name, tensors[i].dtype, tensors[i].shape, tensors[i].data, {}});
  }
  return inputs;
}

Outcome<Trace> Export::capture_at(const std::vector<SampleTensor>& inputs, bool compared) {
  CaptureSettings settings = this->settings();
  settings.sample_outputs = compared && settings.sample_outputs;
  settings.progress = nullptr;
  std::string interface;
  settings.interface = &interface;
  auto traces = capture_model(args_.model, inputs_at(inputs), settings);
  if (!traces.ok()) return traces.failure();
  if (!join_interfaces(interface, &interface_)) {
    return Failure{
        Error::kUnsupported,
        "the program's arguments or results are nested differently than with the sample, "
        "or are other texts"};
  }
  return std::move(traces->front());  // the sample has no phases: this call has none
}

/// Describes what the traces at other sizes found, once; guards and syncs are those of the sample.
void Export::describe_others() {
  ExportSummary all;
  describe_traces(traces_, &all);
  summary_.verdict = all.verdict;
  summary_.findings = std::move(all.findings);
  for (std::string& note : all.notes) {
    const auto& known = summary_.notes;
    if (std::find(known.begin(), known.end(), note) == known.end()) {
      summary_.notes.push_back(std::move(note));
    }
  }
}

void Export::capture_other_sizes() {
  if (dims_.empty()) return;
  const auto begin = std::chrono::steady_clock::now();
  SizedCapture program;
  program.capture = [this](const std::vector<SampleTensor>& inputs, bool compared) {
    auto trace = capture_at(inputs, compared);
    broken_elsewhere_ = trace.ok() && verdict_of(*trace) == Verdict::kBroken;
    return trace;
  };
  program.progress = [this](int64_t done, int64_t total) {
    progress_->report("capture at other sizes", done, total);
  };
  auto sized = capture_sizes(traces_[0], dims_, program, more_samples_);
  if (!sized.ok()) stop_at_sizes(sized.failure());
  traces_ = std::move(sized->traces);
  describe_others();
  dynamic_ = std::move(sized->dynamic);
  summary_.seconds.trace += seconds_since(begin);
}

/// After captures at other sizes.
void Export::stop_at_sizes(const Failure& failure) const {
  if (broken_elsewhere_) throw Stop{failure, Exit::kBroken, verdict_json(summary_)};
  stop(failure);
}

/// Reports the findings; there is no bundle, but a report if one was requested.
void Export::stop_broken() {
  progress_.reset();
  summary_.bundle.path = args_.output;
  summary_.check.unchecked = "the trace is BROKEN";
  if (!args_.report.empty()) {
    const auto written = write_text_file(args_.report, html_report(summary_.bundle, &summary_));
    if (!written.ok()) stop(written.failure());
  }
  Failure failure = broken_failure(args_.model + ": the trace", summary_.findings);
  failure.text +=
      "\n--allow ID, --allow ID@FILE:LINE or a comment there, 'lazyrt: allow ID', lets it through";
  throw Stop{std::move(failure), Exit::kBroken, verdict_json(summary_)};
}

ExportJob Export::job() {
  ExportJob job;
  job.path = args_.output;
  job.report_path = args_.report;
  job.compile.emit.strip_samples = args_.strip_samples;
  if (!interface_.empty()) job.compile.emit.info.emplace_back("lazyrt.interface", interface_);
  job.compile.progress = [this](const std::string& stage, int64_t done, int64_t total) {
    progress_->report(stage, done, total);
  };
  job.compile.after_pass = [this](const std::string& pass, const Graph& graph) {
    dump(pass, graph);
  };
  job.compile.dynamic = dynamic_;
  job.check.level = level_;
  job.check.progress = job.compile.progress;
  job.unchecked = "--check none";
  job.advice =
      "either the model does something that the capture cannot see, or this is a bug in LazyRT "
      "(--keep keeps "
      "the bundle)";
  job.keep = args_.keep;
  return job;
}

/// Writes the bundle, checks that it gives the model's results, and moves it to its place.
void Export::publish() {
  auto done = publish_export(&traces_, job(), summary_);
  if (!done.ok()) {
    if (done.failure().kind == FailureKind::kMismatch) throw Stop{done.failure(), Exit::kMismatch};
    stop_at_sizes(done.failure());
  }
  summary_ = std::move(done->summary);
  if (!args_.c_array.empty()) write_c_source();
}

void Export::write_c_source() const {
  const std::string folder = fs::absolute(args_.output).parent_path().string();
  const auto written = write_c_array(args_.output, args_.c_array, folder);
  if (!written.ok()) stop(written.failure());
}

void Export::print() const {
  if (args_.json) {
    print_json(summary_json(summary_));
  } else if (!args_.quiet) {
    print_text(summary_text(summary_));
  }
}

}  // namespace

Exit run_export(const ExportArguments& arguments) {
  try {
    Export(arguments).run();
  } catch (const Stop& stop) {
    return fail(stop.failure, stop.code, arguments.json, stop.details);
  }
  return Exit::kDone;
}

}  // namespace lazyrt
