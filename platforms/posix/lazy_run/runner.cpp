#include "platforms/posix/lazy_run/runner.h"

#include "platforms/posix/lazy_run/bench.h"
#include "platforms/posix/lazy_run/inputs.h"
#include "platforms/posix/lazy_run/report.h"
#include "platforms/posix/lazy_run/tap_files.h"
#include "platforms/posix/lazy_run/text.h"
#include "platforms/posix/lazy_run/trace_events.h"

namespace lazyrt::run {
namespace {

Method find_method(const Program& program, const std::string& name) {
  if (name.empty() && program.method_count() == 1) return program.method(0);
  const Result<Method> method = program.method(name.empty() ? "forward" : name.c_str());
  require(method.status(), "--method");
  return *method;
}

Session make_session(const Method& method, const Options& options, const Backend* backend,
                     const Watch* watch) {
  SessionOptions session;
  session.backend = backend;
  session.threads = options.threads;
  session.profile = options.profile;
  session.watch = watch;
  session.memory_limit = options.memory_limit;
  session.deadline_nanoseconds = static_cast<uint64_t>(options.deadline_seconds * 1e9);
  Result<Session> made = Session::create(method, session);
  require(made.status());
  return std::move(*made);
}

std::string taps_folder(const Options& options) {
  return options.output_dir.empty() ? "" : options.output_dir + "/taps";
}

/// What --tap and --trace want to know of a session.
struct Observers {
  explicit Observers(const Options& options) : taps(options.taps, taps_folder(options)) {
    watch.context = this;
    if (taps.has_selectors()) {
      watch.wants = [](void* self, const TapPoint& point) {
        return static_cast<Observers*>(self)->taps.wants(point);
      };
      watch.take = [](void* self, const TapPoint& point, const TensorView& value) {
        static_cast<Observers*>(self)->taps.take(point, value);
      };
    }
    if (!options.trace.empty()) {
      watch.span = [](void* self, const RunSpan& span) {
        static_cast<Observers*>(self)->events.take(span);
      };
    }
    is_active = watch.take != nullptr || watch.span != nullptr;
  }
  Observers(const Observers&) = delete;
  Observers& operator=(const Observers&) = delete;

  TapFiles taps;
  TraceEvents events;
  Watch watch;
  bool is_active = false;
};

/// A bundle made ready, and all that the three ways to use it share.
class Runner {
 public:
  Runner(const Options& options, const Surroundings& surroundings)
      : options_(options),
        around_(surroundings),
        observers_(options),
        begin_ns_(TraceEvents::now_ns()),
        begin_ms_(start()),
        program_(surroundings.open()),
        method_(find_method(program_, options.method)),
        self_test_(surroundings.self_test ? surroundings.self_test(program_) : Json()),
        session_(make_session(method_, options, surroundings.backend,
                              observers_.is_active ? &observers_.watch : nullptr)) {
    times_.load_ms = now_ms() - begin_ms_;
    observers_.events.add("load", begin_ns_);
    observers_.taps.check_selectors();
  }

  /// The trace is also written for runs that fail.
  ExitCode run() {
    ExitCode code = ExitCode::kOk;
    try {
      code = run_as_asked();
    } catch (const Failure&) {
      write_trace();
      throw;
    }
    write_trace();
    return code;
  }

 private:
  ExitCode run_as_asked() {
    if (options_.bench()) return bench();
    if (options_.has_inputs() || method_.input_count() == 0) return run_inputs();
    if (method_.sample_count() == 0) {
      throw Failure(ExitCode::kUsage, "the bundle holds no samples: give --input for each of " +
                                          describe_inputs(method_));
    }
    return run_samples();
  }

  void write_trace() const {
    if (options_.trace.empty()) return;
    const Json about = {{"bundle", options_.bundle},
                        {"method", method_.name()},
                        {"backend", options_.backend},
                        {"threads", options_.threads}};
    observers_.events.write(options_.trace, options_.threads, about);
  }

  double start() {
    around_.phase("loading " + options_.bundle);
    return now_ms();
  }

  void set_inputs(std::vector<HostTensor> tensors) {
    for (size_t i = 0; i < tensors.size(); ++i) require(session_.set_input(i, tensors[i].view()));
  }
  void set_inputs(InputsOfRun inputs) {
    for (auto& [i, tensor] : inputs) require(session_.set_input(i, tensor.view()));
  }
  void set_sample(size_t sample) {
    require(session_.reset_state());
    for (size_t i = 0; i < method_.input_count(); ++i) {
      require(session_.set_input(i, method_.sample_input(sample, i)));
    }
  }
  void first_run() {
    around_.phase("running " + options_.bundle);
    const double begin = now_ms();
    const Status ran = session_.run();
    times_.first_ms = now_ms() - begin;
    observers_.taps.end();
    require(ran);
  }

  void set_bench_inputs() {
    if (options_.has_inputs()) {
      const std::vector<InputsOfRun> runs = read_inputs(method_, options_);
      if (runs.size() > 1)
        throw Failure(ExitCode::kUsage, "--bench measures one run: give each --input once");
      return set_inputs(runs[0]);
    }
    if (method_.sample_count() != 0) return set_sample(0);
    std::fprintf(around_.err,
                 "lazy-run: no inputs and no samples: measuring with made-up inputs\n");
    set_inputs(synthetic_inputs(method_));
  }

  ExitCode bench() {
    set_bench_inputs();
    first_run();
    const Json outputs = write_outputs(method_, session_, options_);
    around_.phase("measuring " + options_.bundle);
    const Bench measured = measure(&session_, options_.bench_seconds);
    if (options_.json) {
      report([&](JsonStream* json) {
        json->members(bench_json(program_, session_, measured, times_));
        json->member("outputs", outputs);
      });
    } else {
      std::fprintf(
          around_.out,
          "%s on %s, %d thread%s: median %.3f ms over %zu runs (load %.1f ms, first %.2f ms)\n",
          printable(options_.bundle).c_str(), options_.backend.c_str(), options_.threads,
          options_.threads == 1 ? "" : "s", measured.median_ms(), measured.latencies_ms.size(),
          times_.load_ms, times_.first_ms);
      print_watched();
    }
    return ExitCode::kOk;
  }

  ExitCode run_inputs() {
    if (options_.has_inputs()) {
      const std::vector<InputsOfRun> runs = read_inputs(method_, options_);
      if (runs.size() > 1) return run_sequence(runs);
      set_inputs(runs[0]);
    }
    first_run();
    const Json outputs = write_outputs(method_, session_, options_);
    if (options_.json) {
      report([&](JsonStream* json) {
        json->member("variant", *session_.variant());
        json->member("outputs", outputs);
      });
    } else {
      print_outputs(outputs, around_.out);
      print_watched();
    }
    return ExitCode::kOk;
  }

  /// Makes runs in a row: each continues with what the last one left in the states.
  ExitCode run_sequence(const std::vector<InputsOfRun>& runs) {
    Json all = Json::array();
    for (size_t run = 0; run < runs.size(); ++run) {
      set_inputs(runs[run]);
      run_once(run);
      const Json outputs = write_outputs(method_, session_, options_, "run" + std::to_string(run));
      all.push_back({{"variant", *session_.variant()}, {"outputs", outputs}});
      if (options_.json) continue;
      std::fprintf(around_.out, "run %zu:\n", run);
      print_outputs(outputs, around_.out);
    }
    if (options_.json) {
      report([&](JsonStream* json) { json->member("runs", all); });
    } else {
      print_watched();
    }
    return ExitCode::kOk;
  }

  /// One of a sequence; a failure names it.
  void run_once(size_t run) {
    if (run == 0) return first_run();
    around_.phase("run " + std::to_string(run) + " of " + options_.bundle);
    const Status ran = session_.run();
    require(ran, "run " + std::to_string(run));
  }

  ExitCode run_samples() {
    std::vector<CheckedSample> checked;
    Json outputs;
    bool ok = true;
    for (size_t s = 0; s < method_.sample_count(); ++s) {
      set_sample(s);
      first_run();
      if (s == 0) outputs = write_outputs(method_, session_, options_);
      checked.push_back(check_sample(s));
      ok = ok && checked.back().ok;
    }
    if (options_.json) {
      report([&](JsonStream* json) {
        add_samples(method_, checked, json);
        json->member("outputs", outputs);
      });
    } else {
      print_watched();
    }
    return ok ? ExitCode::kOk : ExitCode::kMismatch;
  }

  Tolerance tolerance(size_t sample, DType dtype) const {
    const Tolerance told = method_.sample_tolerance(sample);
    if (told.absolute != 0 || told.relative != 0) return told;
    return options_.tolerance ? Tolerance{1e-6, *options_.tolerance} : default_tolerance(dtype);
  }

  /// Where differences are printed: stdout is reserved for JSON if that is requested.
  std::FILE* remarks() const { return options_.json ? around_.err : around_.out; }

  /// Whether the variant that ran is the sample's; otherwise its outputs may have other shapes.
  bool ran_as_sampled(size_t sample, CheckedSample* checked) const {
    const Result<size_t> ran = session_.variant();
    require(ran.status());
    checked->variant = *ran;
    if (*ran == method_.sample_variant(sample)) return true;
    checked->ok = false;
    std::fprintf(remarks(), "sample %zu: traced as variant %zu, but variant %zu ran: MISMATCH\n",
                 sample, method_.sample_variant(sample), *ran);
    return false;
  }

  CheckedSample check_sample(size_t sample) const {
    CheckedSample checked;
    if (!ran_as_sampled(sample, &checked)) return checked;
    for (size_t i = 0; i < method_.output_count(); ++i) {
      const Result<TensorView> view = session_.output(i);
      require(view.status());
      const TensorView expected = method_.sample_output(sample, i);
      CheckedOutput out = {compare(*view, expected, tolerance(sample, expected.dtype)), ""};
      if (!out.difference.same_type)
        out.types = "is " + type_text(view->dtype, view->shape) + ", must be " +
                    type_text(expected.dtype, expected.shape);
      checked.ok = checked.ok && out.difference.ok();
      if (!options_.json || !out.difference.ok()) print_checked(sample, i, out);
      checked.outputs.push_back(std::move(out));
    }
    return checked;
  }

  void print_checked(size_t sample, size_t i, const CheckedOutput& checked) const {
    const Difference& d = checked.difference;
    std::fprintf(remarks(), "sample %zu, output '%s': ", sample,
                 shown(method_.output(i).name).c_str());
    if (!d.same_type) {
      std::fprintf(remarks(), "%s: MISMATCH\n", checked.types.c_str());
      return;
    }
    std::fprintf(remarks(), "max abs error %.3g at element %lld, largest expected %.3g: %s\n",
                 d.max_abs_error, static_cast<long long>(d.at), d.largest,
                 d.ok() ? "ok" : "MISMATCH");
  }

  /// What --tap and --profile ask for, as text.
  void print_watched() const {
    observers_.taps.print(around_.out);
    if (options_.profile) print_profile(session_, around_.out);
  }

  /// The JSON object, with the members that `add_results` adds.
  void report(const std::function<void(JsonStream*)>& add_results) const {
    around_.phase("reporting");
    JsonStream json(around_.out);
    json.begin_object();
    describe(method_, session_, options_, &json);
    if (!self_test_.is_null()) json.member("self_test", self_test_);
    add_results(&json);
    if (observers_.taps.has_selectors()) observers_.taps.add_to(&json);
    if (options_.profile) add_profile(session_, &json);
    add_refusals(method_, session_, &json);
    json.end_object();
    std::fputc('\n', around_.out);
  }

  const Options& options_;
  const Surroundings& around_;
  Observers observers_;  ///< outlive the session
  uint64_t begin_ns_;
  double begin_ms_;
  Program program_;
  Method method_;
  Json self_test_;  ///< null: none was asked for
  Session session_;
  StartTimes times_;
};

}  // namespace

ExitCode run_bundle(const Options& options, const Surroundings& surroundings) {
  return Runner(options, surroundings).run();
}

}  // namespace lazyrt::run
