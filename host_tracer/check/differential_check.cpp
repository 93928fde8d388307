#include "host_tracer/check/differential_check.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <optional>
#include <random>
#include <string_view>

#include "host_tracer/check/altered_inputs.h"
#include "host_tracer/check/bundle_runner.h"
#include "host_tracer/check/eager_wobble.h"
#include "host_tracer/check/first_difference.h"
#include "host_tracer/check/overlap_watch.h"
#include "host_tracer/check/result_kinds.h"
#include "host_tracer/check/trace_reference.h"
#include "host_tracer/compile/trace_groups.h"
#include "host_tracer/record/capture.h"

namespace lazyrt {
namespace {

using Clock = std::chrono::steady_clock;

constexpr size_t kCallsInARow = 3;    ///< on the sample, for a program that keeps state
constexpr size_t kMoreOfKeeping = 4;  ///< calls of a program that keeps something,
constexpr size_t kMoreOfVariant = 5;  ///< and for each of its variants
constexpr size_t kCallsOfSize = 4;    ///< at a size beside the sample's
constexpr size_t kTurnsOfSample = 4;  ///< calls on several samples in turn, for each sample
constexpr size_t kLongRow = 12;       ///< a row of calls after which rounding may have added up
constexpr double kOfDrift = 16;       ///< times what is allowed, late in a row

double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

/// One sample with the program to ask.
struct Subject {
  std::vector<SampleTensor> sample;
  std::shared_ptr<const EagerReference> eager;
  std::vector<bool> finite;  ///< by output, on the sample
  size_t group = 0;          ///< the variant of its sample
  size_t first_line = 0;     ///< its outputs' place among the report's lines
};

/// One call of the program and of the bundle.
struct PairedCall {
  std::vector<SampleTensor> inputs;
  std::string how;  ///< "the sample", "altered inputs (floats x 30)"
  bool reset = false;
  bool altered = false;
  bool has_gaps = false;
  bool late = false;  ///< in a row of calls that goes on as long as it can
};

enum class PairEnd {
  kCompared,
  kLeftOut,    ///< the states of both may no longer be equal: the next call needs a reset
  kDifferent,  ///< the report has it
};

bool all_finite(const ResultValue& value) {
  if (!is_tensor(value)) return true;
  const at::Tensor t = from_sample(value.tensor);
  return !at::isFloatingType(t.scalar_type()) || at::isfinite(t).all().item<bool>();
}

std::vector<at::Tensor> tensors_of(const std::vector<SampleTensor>& samples) {
  std::vector<at::Tensor> tensors;
  for (const SampleTensor& sample : samples) tensors.push_back(from_sample(sample));
  return tensors;
}

std::vector<SampleTensor> samples_of(const std::vector<at::Tensor>& tensors) {
  std::vector<SampleTensor> samples;
  for (const at::Tensor& tensor : tensors) samples.push_back(to_sample(tensor));
  return samples;
}

/// Whether a program with such a node expects elements that are not finite.
bool asks_for_gaps(const TraceNode& node) {
  static constexpr std::array kNames = {
      "aten::isnan",     "aten::isinf",       "aten::isfinite", "aten::isposinf",
      "aten::isneginf",  "aten::nan_to_num",  "aten::nansum",   "aten::nanmean",
      "aten::nanmedian", "aten::nanquantile", "aten::fmax",     "aten::fmin",
  };
  const std::string_view name(node.op);
  if (std::find(kNames.begin(), kNames.end(), name) != kNames.end()) return true;
  if (name != "aten::ne" && name != "aten::eq") return false;  // x != x
  const TraceArg *self = node.find("self"), *other = node.find("other");
  return self && other && std::holds_alternative<TensorArg>(*self) && *self == *other;
}

class Checker {
 public:
  Checker(const LoadedBundle& bundle, const DifferentialOptions& options)
      : bundle_(bundle), options_(options), begin_(Clock::now()) {
    report_.level = options.level;
    report_.seed = options.seed;
  }

  Outcome<CheckReport> run(const std::vector<Trace>& traces) {
    auto groups = group_traces(traces);
    if (!groups.ok()) return groups.failure();
    groups_ = std::move(*groups);
    stateless_ = std::all_of(groups_.begin(), groups_.end(),
                             [](const TraceGroup& group) { return group.trace.states.empty(); });
    asks_for_gaps_ = std::any_of(groups_.begin(), groups_.end(), [](const TraceGroup& group) {
      return std::any_of(group.trace.nodes.begin(), group.trace.nodes.end(), asks_for_gaps);
    });
    find_subjects(traces);
    if (subjects_.empty()) return unchecked("the model carries no sample inputs");
    limit_level(traces);
    auto runner = BundleRunner::make(bundle_.program());
    if (!runner.ok()) return does_not_run(runner.failure());
    runner_ = std::move(*runner);
    for (size_t i = 0; i < subjects_.size(); ++i) {
      LAZYRT_TRY(check_subject(i));
      if (!report_.difference.empty()) break;
    }
    if (report_.difference.empty()) LAZYRT_TRY(check_samples_by_turns());
    report_.seconds = seconds_since(begin_);
    return report_;
  }

 private:
  static Failure does_not_run(const Failure& failure) {
    return {failure.error, "the bundle made does not run: " + failure.text};
  }

  Outcome<CheckReport> unchecked(const char* why) {
    report_.level = CheckLevel::kNone;
    report_.unchecked = why;
    return report_;
  }

  void find_subjects(const std::vector<Trace>& traces) {
    const bool programs = std::any_of(traces.begin(), traces.end(),
                                      [](const Trace& trace) { return trace.eager != nullptr; });
    for (size_t i = 0; i < traces.size(); ++i) {
      const Trace& trace = traces[i];
      if (trace.sample_inputs.size() != trace.inputs.size()) continue;
      if (programs && !trace.eager) continue;
      const size_t group = group_of(i);
      subjects_.push_back({trace.sample_inputs,
                           programs ? trace.eager : trace_reference(groups_, group),
                           {},
                           group,
                           0});
    }
  }

  size_t group_of(size_t sample) const {
    for (size_t g = 0; g < groups_.size(); ++g) {
      const auto& samples = groups_[g].samples;
      if (std::find(samples.begin(), samples.end(), sample) != samples.end()) return g;
    }
    return 0;
  }

  /// If findings were allowed that make other inputs or later calls wrong, those are not checked.
  void limit_level(const std::vector<Trace>& traces) {
    for (const Trace& trace : traces) {
      for (const Finding& finding : trace.findings) {
        allowed_ = allowed_ || finding.allowed;
        if (!finding.allowed || report_.level != CheckLevel::kFull) continue;
        report_.level = CheckLevel::kSample;
        report_.unchecked = "the finding " + finding.id + " was allowed";
      }
    }
  }

  /// The most calls on a sample. They are counted instead of seconds, so that a busy machine checks
  /// the same.
  size_t budget_of(size_t subject) const {
    if (options_.sizes && subject > 0) return kCallsOfSize;
    return options_.calls + (stateless_ ? 0 : kMoreOfKeeping + kMoreOfVariant * groups_.size());
  }

  /// The number of calls in the last row: for a stateless program one more on the sample; otherwise
  /// enough to reach each variant, three times if there are several, because what one leaves behind
  /// may show later.
  size_t last_row() const {
    if (stateless_ || options_.sizes) return 1;
    return groups_.size() == 1 ? kCallsInARow : 3 * (groups_.size() + 2);
  }

  // ------------------------------------------------------------ calls

  Outcome<Done> check_subject(size_t index) {
    Subject& subject = subjects_[index];
    const bool is_beside = options_.sizes && index > 0 && !options_.rows_of_sizes;
    const size_t calls = allowed_ || is_beside ? 1 : stateless_ ? 2 : kCallsInARow;
    left_ = budget_of(index);
    for (size_t i = 0; i < calls; ++i) {
      PairedCall step{subject.sample, name_of(index), i == 0, false};
      if (i > 0) step.how = "call " + std::to_string(i + 1) + " in a row on the sample";
      const auto end = take_step(index, step);
      if (!end.ok()) return end.failure();
      if (*end == PairEnd::kDifferent) return Done{};
      if (*end == PairEnd::kLeftOut) break;
    }
    if (report_.level == CheckLevel::kFull) return check_altered(index);
    return Done{};
  }

  /// "the sample", "sample 1", or "inputs f32[2,7]" for a size near it.
  std::string name_of(size_t index) const {
    if (!options_.sizes || index == 0) return "the sample";
    if (const auto& eager = subjects_[index].eager; eager && !eager->sample.empty())
      return eager->sample;
    std::string text = "inputs";
    for (const SampleTensor& input : subjects_[index].sample) {
      text += " " + type_text({input, std::nullopt});
    }
    return text;
  }

  /// Inputs far from the sample are used only if the program keeps state: otherwise a threshold is
  /// a guard or a node, and far from the sample rounding says little.
  std::vector<AlteredInputs> cases_of(const Subject& subject) const {
    auto cases = altered_inputs(tensors_of(subject.sample), options_.seed);
    std::erase_if(cases, [this](const AlteredInputs& one) {
      return (one.programs == AlteredFor::kKeeping && stateless_) ||
             (one.programs == AlteredFor::kGaps && !asks_for_gaps_);
    });
    return cases;
  }

  /// Runs every case once. Without states only the first call begins afresh: the longer the row,
  /// the more of what the capture missed shows. With states, every other case begins after a reset.
  Outcome<Done> check_altered(size_t index) {
    const auto cases = cases_of(subjects_[index]);
    std::vector<const AlteredInputs*> answered;
    bool in_step = false;
    for (size_t i = 0; i < cases.size(); ++i) {
      if (left_ <= last_row()) {
        report_.left_out += cases.size() - i;
        break;
      }
      const bool reset = after_refusal_ || (!stateless_ && (i % 2 == 0 || !in_step));
      PairedCall step{samples_of(cases[i].tensors), "", reset, true,
                      cases[i].programs == AlteredFor::kGaps};
      step.how = "altered inputs (" + cases[i].how + ")" + (reset ? "" : " after other calls");
      const auto end = take_step(index, step);
      if (!end.ok()) return end.failure();
      if (*end == PairEnd::kDifferent) return Done{};
      in_step = *end == PairEnd::kCompared;
      if (in_step) answered.push_back(&cases[i]);
    }
    return check_last_row(index, answered);
  }

  /// Finds what changes only with some calls, or late: the sample and altered inputs in turn,
  /// without a reset, for as many calls as are left. A stateless program gets one more call on the
  /// sample after all others.
  Outcome<Done> check_last_row(size_t index, const std::vector<const AlteredInputs*>& cases) {
    const std::vector<SampleTensor>& sample = subjects_[index].sample;
    const bool is_one = stateless_ || options_.sizes;
    for (size_t i = 0; left_ > 0 && (!is_one || i == 0); ++i) {
      const AlteredInputs* altered =
          i % 2 == 1 && !cases.empty() ? cases[i / 2 % cases.size()] : nullptr;
      const std::string how = "call " + std::to_string(i + 1) + " in a row on ";
      PairedCall step{altered ? samples_of(altered->tensors) : sample,
                      how + (altered ? "altered inputs (" + altered->how + ")" : "the sample"),
                      after_refusal_ || (i == 0 && !stateless_),
                      altered != nullptr,
                      altered && altered->programs == AlteredFor::kGaps,
                      i >= kLongRow};
      if (is_one) step.how = "the sample after altered inputs";
      const auto end = take_step(index, step);
      if (!end.ok()) return end.failure();
      if (*end != PairEnd::kCompared) break;
    }
    return Done{};
  }

  /// What a call on one sample leaves behind is what a call on the next one starts from.
  Outcome<Done> check_samples_by_turns() {
    if (subjects_.size() < 2 || options_.sizes || allowed_) return Done{};
    if (report_.level != CheckLevel::kFull) return Done{};
    if (!all_of_subjects(&EagerReference::shares_state)) {
      if (!all_of_subjects(&EagerReference::takes_other_samples)) return Done{};
      for (Subject& subject : subjects_) subject.eager = subjects_[0].eager;
    }
    left_ = kTurnsOfSample * subjects_.size();
    std::mt19937_64 random(options_.seed);
    std::vector<std::vector<AlteredInputs>> cases;
    for (const Subject& subject : subjects_) cases.push_back(cases_of(subject));
    bool in_step = false;
    for (size_t i = 0; left_ > 0; ++i) {
      const size_t index = i < 2 ? i : random() % subjects_.size();
      const bool altered = i % 2 == 1 && !cases[index].empty();
      PairedCall step{subjects_[index].sample, "", !in_step, altered};
      if (altered) {
        const AlteredInputs& one = cases[index][i / 2 % cases[index].size()];
        step.inputs = samples_of(one.tensors);
        step.has_gaps = one.programs == AlteredFor::kGaps;
      }
      step.how = (altered ? "altered inputs of sample " : "sample ") + std::to_string(index) +
                 ", call " + std::to_string(i + 1) + " by turns with other samples";
      const auto end = take_step(index, step);
      if (!end.ok()) return end.failure();
      if (*end == PairEnd::kDifferent) return Done{};
      in_step = *end == PairEnd::kCompared;
    }
    return Done{};
  }

  bool all_of_subjects(bool EagerReference::*property) const {
    return std::all_of(subjects_.begin(), subjects_.end(), [property](const Subject& subject) {
      return subject.eager && (*subject.eager).*property;
    });
  }

  Outcome<PairEnd> take_step(size_t index, const PairedCall& step) {
    Subject& subject = subjects_[index];
    if (options_.progress) {
      options_.progress("check against eager", static_cast<int64_t>(report_.calls), 0);
    }
    left_ -= left_ > 0 ? 1 : 0;
    ++report_.eager_calls;
    if (step.reset) history_.clear();
    after_refusal_ = after_refusal_ && !step.reset;
    report_.altered += step.altered ? 1 : 0;
    std::string undefined;
    EagerRun eager = call_watched(*subject.eager, step, &undefined);
    if (!undefined.empty()) return not_defined(undefined);
    if (!eager.raised.empty() && subject.finite.empty() && subject.eager->may_be_foreign) {
      note(
          "the program itself does not run here; the bundle was compared with its captured calls, "
          "run by ATen: " +
          eager.raised);
      subject.eager = trace_reference(groups_, subject.group);
      eager = subject.eager->call(step.inputs, step.reset);
    }
    if (!eager.raised.empty()) return eager_raised(step, eager.raised);
    auto ours = runner_->run(step.inputs, step.reset);
    if (!ours.ok()) return bundle_refused(subject, step, ours.failure());
    if (stateless_) history_.clear();  // what came before is no part of it
    history_.push_back({tensors_of(step.inputs), options_.sizes ? subject.group : ours->variant});
    if (subject.finite.empty()) begin_lines(subject, index, *ours, eager);
    if ((step.altered || step.late) && left_finite(subject, eager)) {
      ++report_.not_finite;
      return PairEnd::kLeftOut;
    }
    ++report_.calls;
    report_.in_a_row += step.reset ? 0 : 1;
    report_.altered_compared += step.altered ? 1 : 0;
    rounding_differs_ = false;
    compare(subject, step, *ours, eager);
    if (rounding_differs_) return PairEnd::kLeftOut;
    return report_.difference.empty() ? PairEnd::kCompared : PairEnd::kDifferent;
  }

  /// Altered inputs take the sample's calls.
  static EagerRun call_watched(const EagerReference& eager, const PairedCall& step,
                               std::string* undefined) {
    if (step.altered) return eager.call(step.inputs, step.reset);
    const OverlapWatch watch(eager.source_of);
    EagerRun run = eager.call(step.inputs, step.reset);
    *undefined = watch.found();
    return run;
  }

  static Failure not_defined(const std::string& call) {
    return {
        Error::kUnsupported,
        "the program writes into elements that the same call reads (" + call +
            "): eager's result depends on their order in memory. clone() the tensor that is read"};
  }

  Outcome<PairEnd> eager_raised(const PairedCall& step, const std::string& what) {
    if (step.altered) {
      ++report_.raised;
    } else if (step.reset) {
      return Failure{Error::kInternal, "the program raises on its own sample: " + what};
    } else {
      note("eager raises on " + step.how + ": " + what);
    }
    return PairEnd::kLeftOut;
  }

  Outcome<PairEnd> bundle_refused(const Subject& subject, const PairedCall& step,
                                  const Failure& failure) {
    const std::string& sample = subject.eager->sample;
    if (!step.altered && step.reset && !sample.empty()) {
      return Failure{Error::kUnsupported,
                     "the bundle refuses " + sample + ": " + failure.text +
                         "\nThe values of this sample take another path than those of the first "
                         "one, and where extents vary a bundle has one path for all values: leave "
                         "the sample out, or export a bundle for each path"};
    }
    after_refusal_ = true;
    if (step.altered) {
      ++report_.refused;
      if (failure.error != Error::kGuardFailed)
        note("the bundle fails with an error: " + failure.text);
    } else if (step.reset && !(options_.sizes && failure.error == Error::kGuardFailed)) {
      return does_not_run(failure);
    } else {
      report_.refused += options_.sizes ? 1 : 0;
      note("the bundle refuses " + step.how + ": " + failure.text);
    }
    return PairEnd::kLeftOut;
  }

  void note(const std::string& text) {
    auto& notes = report_.notes;
    if (std::find(notes.begin(), notes.end(), text) == notes.end()) notes.push_back(text);
  }

  void begin_lines(Subject& subject, size_t index, const BundleRun& ours, const EagerRun& eager) {
    subject.first_line = report_.lines.size();
    for (const ResultValue& value : eager.outputs) subject.finite.push_back(all_finite(value));
    for (size_t i = 0; i < ours.names.size(); ++i) {
      if (!is_tensor(ours.outputs[i])) continue;
      CheckLine line;
      line.output = ours.names[i];
      if (subjects_.size() > 1) {
        line.output = "sample " + std::to_string(index) + ": " + line.output;
      }
      report_.lines.push_back(std::move(line));
    }
  }

  static bool left_finite(const Subject& subject, const EagerRun& eager) {
    for (size_t i = 0; i < eager.outputs.size() && i < subject.finite.size(); ++i) {
      if (subject.finite[i] && !all_finite(eager.outputs[i])) return true;
    }
    return false;
  }

  // ------------------------------------------------------------ comparing

  void compare(const Subject& subject, const PairedCall& step, const BundleRun& ours,
               const EagerRun& eager) {
    if (!eager.other_structure.empty()) return differ(step, eager.other_structure);
    if (ours.outputs.size() != eager.outputs.size()) {
      return differ(step, "the bundle has " + std::to_string(ours.outputs.size()) +
                              " results, eager " + std::to_string(eager.outputs.size()));
    }
    EagerWobble& wobble = wobble_of_last();
    size_t line = subject.first_line;
    for (size_t i = 0; i < ours.outputs.size() && report_.difference.empty(); ++i) {
      const ResultValue& mine = ours.outputs[i];
      const ResultValue wanted = in_kind_of(mine, eager.outputs[i]);
      const std::string kind = other_kind(mine, wanted);
      if (!kind.empty()) {
        differ(step, "result '" + ours.names[i] + "' " + kind);
      } else if (is_tensor(mine)) {
        compare_tensors(subject, step, i, mine, wanted, wobble, report_.lines[line]);
      }
      line += is_tensor(mine) ? 1 : 0;
    }
    for (const std::string& text : wobble.notes()) note(text);
  }

  /// Without states, a call on the same inputs is the same call.
  EagerWobble& wobble_of_last() {
    if (!wobble_ || !stateless_ || !same_call(wobble_->last(), history_.back())) {
      wobble_.emplace(groups_, history_, options_.seed);
    }
    return *wobble_;
  }

  static bool same_call(const CheckedCall& a, const CheckedCall& b) {
    return a.variant == b.variant &&
           std::equal(a.inputs.begin(), a.inputs.end(), b.inputs.begin(), b.inputs.end(),
                      [](const at::Tensor& x, const at::Tensor& y) { return at::equal(x, y); });
  }

  void compare_tensors(const Subject& subject, const PairedCall& step, size_t output,
                       const ResultValue& ours, const ResultValue& eager, EagerWobble& wobble,
                       CheckLine& line) {
    const at::Tensor x = from_sample(ours.tensor), y = from_sample(eager.tensor);
    Comparison comparison = compare_results(x, y, {});
    if (!comparison.ok && wobble.is_known()) {  // of other results
      comparison = compare_results(x, y, wobble.of(output));
    }
    while (!comparison.ok && wobble.learn()) {
      comparison = compare_results(x, y, wobble.of(output));
    }
    // How kernels treat NaN and infinities is documented in NUMERICS.md; rounding adds up in state.
    const bool drift = step.late && comparison.of_bound < kOfDrift;
    if (!comparison.ok && (drift || (step.has_gaps && is_captured(output, y, wobble)))) {
      rounding_differs_ = true;
      return;
    }
    report_.undecided += comparison.undecided;
    line.max_value = std::max(line.max_value, comparison.max_value);
    line.max_absolute = std::max(line.max_absolute, comparison.max_absolute);
    line.of_bound = std::max(line.of_bound, comparison.of_bound);
    line.ok = comparison.ok;
    if (comparison.ok) return;
    char text[120];
    std::snprintf(text, sizeof text, " (error %.3g, %.3g times what is allowed; %ld of %ld)",
                  comparison.max_absolute, comparison.of_bound, static_cast<long>(comparison.over),
                  static_cast<long>(x.numel()));
    differ(step, "result '" + line.output + "': " + comparison.worst + text);
    report_.difference += ". " + cause(subject, output, x, y, wobble);
  }

  void differ(const PairedCall& step, const std::string& what) {
    report_.difference = "on " + step.how + " " + what;
  }

  /// Whether the trace, evaluated by ATen, gives what eager gives.
  static bool is_captured(size_t output, const at::Tensor& eager, const EagerWobble& wobble) {
    const at::Tensor plain = wobble.plain(output);
    return plain.defined() && plain.scalar_type() == eager.scalar_type() &&
           plain.sizes() == eager.sizes() && compare_results(plain, eager, wobble.of(output)).ok;
  }

  /// Finds where the difference begins: in the capture, or at a node of the trace.
  std::string cause(const Subject& subject, size_t output, const at::Tensor& ours,
                    const at::Tensor& eager, const EagerWobble& wobble) const {
    const at::Tensor plain = wobble.plain(output);
    if (!plain.defined()) return "The trace cannot be evaluated by ATen.";
    if (!is_captured(output, eager, wobble) && compare_results(plain, ours, wobble.of(output)).ok) {
      return std::string(
                 "The captured calls, run by ATen, give the bundle's result as well: the ") +
             "program depends on something that the capture did not see (an attribute, a global, "
             "the environment, a "
             "decision on a value)" +
             explanation(subject);
    }
    return "First node that differs: " + suspect(wobble);
  }

  std::string explanation(const Subject& subject) const {
    if (!subject.eager->explain) return "";
    std::vector<std::vector<SampleTensor>> calls;
    for (const CheckedCall& call : history_) calls.push_back(samples_of(call.inputs));
    const std::string text = subject.eager->explain(calls);
    return text.empty() ? "" : ". " + text;
  }

  std::string suspect(const EagerWobble& wobble) const {
    const auto values = wobble.values();
    if (!values.ok()) return "not known, " + values.failure().text;
    const ExportTrace make = [this](const Trace& trace, const std::string& path) -> Outcome<Done> {
      ExportOptions options;
      options.path = path;
      options.pipeline = options_.pipeline;
      auto report = export_trace(trace, default_ops(), options);
      if (!report.ok()) return report.failure();
      return Done{};
    };
    const CheckedCall& call = history_.back();
    const auto found =
        find_first_difference(groups_[call.variant].trace, call.inputs, *values, make,
                              bundle_.path() + ".part", options_.search_seconds);
    return found.ok() ? found->text() : "not known, " + found.failure().text;
  }

  const LoadedBundle& bundle_;
  const DifferentialOptions& options_;
  const Clock::time_point begin_;
  size_t left_ = 0;  ///< calls on this sample, or by turns
  std::vector<TraceGroup> groups_;
  std::vector<Subject> subjects_;
  std::unique_ptr<BundleRunner> runner_;
  bool stateless_ = false;
  bool asks_for_gaps_ = false;
  /// Or kernels on inputs with gaps, in the last call: not an error.
  bool rounding_differs_ = false;
  bool after_refusal_ =
      false;  ///< eager ran a call that the bundle refused, and may be in another state
  std::vector<CheckedCall> history_;   ///< since the last reset, if it matters
  std::optional<EagerWobble> wobble_;  ///< of the last call that needed one
  CheckReport report_;
  bool allowed_ = false;  ///< something that may be wrong
};

}  // namespace

Outcome<CheckReport> check_bundle(const LoadedBundle& bundle, const std::vector<Trace>& traces,
                                  const DifferentialOptions& options) {
  if (options.level == CheckLevel::kNone) return CheckReport();
  try {
    const at::NoGradGuard no_grad;
    return Checker(bundle, options).run(traces);
  } catch (const c10::Error& e) {
    return Failure{Error::kInternal,
                   std::string("the check failed: ") + e.what_without_backtrace()};
  }
}

}  // namespace lazyrt
