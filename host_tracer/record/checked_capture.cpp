#include "host_tracer/record/checked_capture.h"

#include <ATen/ATen.h>
#include <ATen/CPUGeneratorImpl.h>

#include <algorithm>
#include <set>

#include "host_tracer/record/capture_run.h"
#include "host_tracer/record/compare_traces.h"
#include "host_tracer/record/lazy_backend.h"
#include "host_tracer/record/perturb.h"
#include "host_tracer/record/sync_fates.h"
#include "host_tracer/trace/allow.h"

namespace lazyrt {
namespace {

/// Puts the CPU's random numbers back at the end of its life.
class RandomState {
 public:
  RandomState() {
    const std::lock_guard<std::mutex> lock(generator_.mutex());
    state_ = generator_.get_state();
  }
  ~RandomState() {
    const std::lock_guard<std::mutex> lock(generator_.mutex());
    generator_.set_state(state_);
  }
  RandomState(const RandomState&) = delete;
  RandomState& operator=(const RandomState&) = delete;

 private:
  at::Generator generator_ = at::detail::getDefaultCPUGenerator();
  at::Tensor state_;
};

class Checker {
 public:
  Checker(const CaptureRequest& request, const CaptureProgram& program, const CheckOptions& options)
      : request_(request), program_(program), options_(options) {}

  Outcome<Trace> run() {
    ProgramRun result = run_program(request_, program_, nullptr);
    if (!result.run) return Failure{Error::kUnsupported, result.error};
    first_ = std::move(*result.run);
    first_.trace.takes_gradients = result.gradients;
    kept_ = std::move(result.kept);
    std::vector<TraceDifference> differences;
    if (options_.second_trace) {
      auto found = look_again();
      if (!found.ok()) return found.failure();
      differences = std::move(*found);
    }
    Trace trace = settle(std::move(first_), differences);
    for (Finding& finding : findings_) trace.findings.push_back(std::move(finding));
    LAZYRT_TRY(allow_findings(trace, options_.allow));
    return trace;
  }

 private:
  CaptureRequest perturbed_request() const {
    CaptureRequest request = request_;
    uint64_t seed = options_.seed;
    for (NamedTensor& input : request.inputs)
      input.tensor = perturbed(input.tensor, /*level=*/0, seed++);
    return request;
  }

  /// Runs the program on other inputs, with the first run's values wherever it reads a value on the
  /// host.
  Outcome<std::vector<TraceDifference>> look_again() {
    const RunScript script = {&first_.syncs, &first_.calls};
    const CaptureRequest request = perturbed_request();
    ProgramRun second = run_program(request, program_, &script);
    if (second.ours) return Failure{Error::kUnsupported, second.error};
    if (second.reads_earlier) {
      report_kept(Severity::kError, "changing-attribute", *second.reads_earlier,
                  "the program keeps a tensor that it computes and reads it in its next call: the "
                  "bundle would repeat its first call",
                  "register_buffer() it and write it in place, or make it an input and a result");
      return std::vector<TraceDifference>();
    }
    report_only_written();
    if (!second.run) {
      report_unstable(second.position, second.parted ? "" : second.error);
      return std::vector<TraceDifference>();
    }
    TraceComparison comparison = compare_traces(first_.trace, second.run->trace, first_.random);
    if (comparison.same_path) return std::move(comparison.differences);
    const auto node = static_cast<size_t>(comparison.parted_node);
    const bool known = comparison.parted_node >= 0 && node < first_.positions.size();
    report_unstable(known ? first_.positions[node] : second.position, "");
    return std::vector<TraceDifference>();
  }

  void report_kept(Severity severity, const char* id, const Source& source,
                   const std::string& message, const std::string& suggestion) {
    Finding finding;
    finding.severity = severity;
    finding.id = id;
    finding.source = source;
    finding.message = message;
    finding.suggestion = suggestion;
    findings_.push_back(std::move(finding));
  }

  void report_only_written() {
    std::set<std::string> known;
    for (const Source& source : kept_) {
      if (!known.insert(source.text()).second) continue;
      report_kept(Severity::kNote, "only-written", source,
                  "the program keeps a tensor beyond its call, which its next call does not read: "
                  "the bundle leaves it out, and the program has a tensor there that is of no use "
                  "outside of the export",
                  "return it, if you want it");
    }
  }

  void report_unstable(int64_t parted_at, const std::string& error) {
    Finding finding;
    finding.severity = Severity::kError;
    finding.id = "unstable-program";
    finding.message =
        "a second run of the program takes another path although every value that it got from the "
        "graph was the same";
    for (size_t i = 0; i < first_.positions.size(); ++i) {
      if (first_.positions[i] < parted_at) continue;
      finding.source = first_.trace.nodes[i].source;
      finding.message += ": it parts at " + finding.source.aten + source_suffix(finding.source);
      break;
    }
    if (!error.empty()) finding.message += " (" + error + ")";
    finding.suggestion =
        "a random choice, a clock, or state outside of buffers? fix it, or make it an input";
    findings_.push_back(std::move(finding));
  }

  const CaptureRequest& request_;
  const CaptureProgram& program_;
  const CheckOptions& options_;
  CapturedRun first_;
  /// Sources of tensors that the program still holds after the first run.
  std::vector<Source> kept_;
  std::vector<Finding> findings_;
};

}  // namespace

Outcome<Trace> capture_checked(const CaptureRequest& request, const CaptureProgram& program,
                               const CheckOptions& options) {
  if (CaptureSession::current()) {
    return Failure{Error::kUnsupported, "a capture cannot be started inside another"};
  }
  if (auto known = parse_allowances(options.allow); !known.ok()) return known.failure();
  const CaptureTurn turn;
  const RandomState random_state;
  if (std::string error = install_lazy_backend(); !error.empty()) {
    return Failure{Error::kUnsupported, error};
  }
  return Checker(request, program, options).run();
}

}  // namespace lazyrt
