// lazy-run: runs a bundle on this machine, checks it against its samples or measures it.

#include <cstdio>
#include <exception>

#include "platforms/posix/lazy_run/bench.h"
#include "platforms/posix/lazy_run/explain.h"
#include "platforms/posix/lazy_run/inputs.h"
#include "platforms/posix/lazy_run/op_list.h"
#include "platforms/posix/lazy_run/progress.h"
#include "platforms/posix/lazy_run/report.h"
#include "platforms/posix/lazy_run/tap_files.h"
#include "platforms/posix/lazy_run/trace_events.h"

namespace lazyrt::run {
namespace {

Method find_method(const Program& program, const std::string& name) {
  if (name.empty() && program.method_count() == 1) return program.method(0);
  const Result<Method> method = program.method(name.empty() ? "forward" : name.c_str());
  require(method.status(), "--method");
  return *method;
}

Session make_session(const Method& method, const Options& options, const Watch* watch) {
  SessionOptions session;
  session.backend = options.backend == "cpu" ? cpu_backend() : reference_backend();
  session.threads = options.threads;
  session.profile = options.profile;
  session.watch = watch;
  session.memory_limit = options.memory_limit;
  session.deadline_nanoseconds = static_cast<uint64_t>(options.deadline_seconds * 1e9);
  Result<Session> made = Session::create(method, session);
  require(made.status());
  return std::move(*made);
}

Program open_program(const Options& options) {
  LoadOptions load;
  load.check_data = options.check_data;
  load.memory_limit = options.memory_limit;
  load.work_limit = options.work_limit;
  load.node_work_limit = options.node_work_limit;
  Result<Program> program = Program::open(options.bundle.c_str(), default_ops(), load);
  if (program.status().error() == Error::kNotFound) {
    throw Failure(ExitCode::kIo, program.status().message());
  }
  require(program.status(), options.bundle);
  return std::move(*program);
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
  explicit Runner(const Options& options)
      : options_(options),
        observers_(options),
        begin_ns_(TraceEvents::now_ns()),
        begin_ms_(start()),
        program_(open_program(options)),
        method_(find_method(program_, options.method)),
        session_(
            make_session(method_, options, observers_.is_active ? &observers_.watch : nullptr)) {
    times_.load_ms = now_ms() - begin_ms_;
    observers_.events.add("load", begin_ns_);
    observers_.taps.check_selectors();
  }

  /// The trace is written of runs that fail, too.
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
    progress_.phase("loading " + options_.bundle);
    return now_ms();
  }

  /// Only for who reads it: it is larger than the bundle.
  Json described() const {
    return options_.json ? describe(method_, session_, options_) : Json::object();
  }

  void set_inputs(std::vector<HostTensor> tensors) {
    for (size_t i = 0; i < tensors.size(); ++i) require(session_.set_input(i, tensors[i].view()));
  }
  void set_sample(size_t sample) {
    require(session_.reset_state());
    for (size_t i = 0; i < method_.input_count(); ++i) {
      require(session_.set_input(i, method_.sample_input(sample, i)));
    }
  }
  void first_run() {
    progress_.phase("running " + options_.bundle);
    const double begin = now_ms();
    const Status ran = session_.run();
    times_.first_ms = now_ms() - begin;
    observers_.taps.end();
    require(ran);
  }

  void set_bench_inputs() {
    if (options_.has_inputs()) return set_inputs(read_inputs(method_, options_));
    if (method_.sample_count() != 0) return set_sample(0);
    std::fprintf(stderr, "lazy-run: no inputs and no samples: measuring with made-up inputs\n");
    set_inputs(synthetic_inputs(method_));
  }

  ExitCode bench() {
    set_bench_inputs();
    first_run();
    const Json outputs = write_outputs(method_, session_, options_);
    progress_.phase("measuring " + options_.bundle);
    const Bench measured = measure(&session_, options_.bench_seconds);
    progress_.phase("reporting");
    Json json = described();
    json.update(bench_json(program_, session_, measured, times_));
    json["outputs"] = outputs;
    if (!options_.json) {
      std::printf(
          "%s on %s, %d thread%s: median %.3f ms over %zu runs (load %.1f ms, first %.2f ms)\n",
          options_.bundle.c_str(), options_.backend.c_str(), options_.threads,
          options_.threads == 1 ? "" : "s", measured.median_ms(), measured.latencies_ms.size(),
          times_.load_ms, times_.first_ms);
    }
    return finish(std::move(json), ExitCode::kOk);
  }

  ExitCode run_inputs() {
    if (options_.has_inputs()) set_inputs(read_inputs(method_, options_));
    first_run();
    Json json = described();
    json["variant"] = *session_.variant();
    json["outputs"] = write_outputs(method_, session_, options_);
    if (!options_.json) print_outputs(json["outputs"]);
    return finish(std::move(json), ExitCode::kOk);
  }

  ExitCode run_samples() {
    Json json = described();
    json["samples"] = Json::array();
    bool ok = true;
    for (size_t s = 0; s < method_.sample_count(); ++s) {
      set_sample(s);
      first_run();
      if (s == 0) json["outputs"] = write_outputs(method_, session_, options_);
      Json checked = check_sample(s);
      ok = ok && checked["ok"].get<bool>();
      json["samples"].push_back(std::move(checked));
    }
    return finish(std::move(json), ok ? ExitCode::kOk : ExitCode::kMismatch);
  }

  Tolerance tolerance(size_t sample) const {
    const Tolerance told = method_.sample_tolerance(sample);
    return told.absolute != 0 || told.relative != 0 ? told : Tolerance{1e-6, options_.tolerance};
  }

  /// The variant that ran is the sample's, else its outputs may have other shapes.
  bool ran_as_sampled(size_t sample, Json* out) const {
    const Result<size_t> ran = session_.variant();
    require(ran.status());
    (*out)["variant"] = *ran;
    if (*ran == method_.sample_variant(sample)) return true;
    (*out)["ok"] = false;
    std::fprintf(options_.json ? stderr : stdout,
                 "sample %zu: traced as variant %zu, but variant %zu ran: MISMATCH\n", sample,
                 method_.sample_variant(sample), *ran);
    return false;
  }

  Json check_sample(size_t sample) {
    Json out = {{"sample", sample}, {"ok", true}, {"outputs", Json::array()}};
    if (!ran_as_sampled(sample, &out)) return out;
    for (size_t i = 0; i < method_.output_count(); ++i) {
      const Result<TensorView> view = session_.output(i);
      require(view.status());
      const char* name = method_.output(i).name;
      const Difference d = compare(*view, method_.sample_output(sample, i), tolerance(sample));
      if (!d.ok()) out["ok"] = false;
      out["outputs"].push_back(to_json(name, d));
      if (!options_.json || !d.ok()) {
        std::fprintf(options_.json ? stderr : stdout,
                     "sample %zu, output '%s': max abs error %.3g at element %lld, largest "
                     "expected %.3g: %s\n",
                     sample, name, d.max_abs_error, static_cast<long long>(d.at), d.largest,
                     d.ok() ? "ok" : "MISMATCH");
      }
    }
    return out;
  }

  void print_outputs(const Json& outputs) const {
    for (const Json& o : outputs) {
      const std::string file = o["file"].is_null() ? "" : " -> " + o["file"].get<std::string>();
      std::printf("%s %s%s%s\n", o["name"].get<std::string>().c_str(),
                  o["dtype"].get<std::string>().c_str(), o["shape"].dump().c_str(), file.c_str());
    }
  }

  ExitCode finish(Json json, ExitCode code) {
    if (!options_.json) std::printf("%s", tap_lines(observers_.taps.json()).c_str());
    if (options_.json && observers_.taps.has_selectors()) json["taps"] = observers_.taps.json();
    if (options_.profile && !options_.json) std::printf("%s", profile_table(session_).c_str());
    if (options_.profile && options_.json) json["profile"] = profile_json(session_);
    if (options_.json) {
      json["guard_refusals"] = refusals_json(method_, session_);
      std::printf("%s\n", dump(json).c_str());
    }
    return code;
  }

  const Options& options_;
  Progress progress_;
  Observers observers_;  ///< outlive the session
  uint64_t begin_ns_;
  double begin_ms_;
  Program program_;
  Method method_;
  Session session_;
  StartTimes times_;
};

ExitCode run(int argc, char** argv) {
  Options options;
  ExitCode code = ExitCode::kOk;
  if (!parse_options(argc, argv, &options, &code)) return code;
  if (!options.explain.empty()) {
    std::printf("%s", explain(options.explain, options.bundle, default_ops()).c_str());
    return ExitCode::kOk;
  }
  if (options.ops) {
    std::printf("%s", op_list(options.bundle, default_ops()).c_str());
    return ExitCode::kOk;
  }
  return Runner(options).run();
}

}  // namespace
}  // namespace lazyrt::run

int main(int argc, char** argv) {
  return lazyrt::run::run_main("lazy-run", argc, argv, lazyrt::run::run);
}
