#include "platforms/posix/conformance/case_runner.h"

#include <algorithm>

#include "platforms/posix/lazy_run/bench.h"
#include "platforms/posix/lazy_run/compare.h"
#include "platforms/posix/lazy_run/failure.h"
#include "platforms/posix/lazy_run/npy.h"
#include "platforms/posix/lazy_run/report.h"

namespace lazyrt::conformance {
namespace {

std::string text_of(const Status& status) {
  return std::string(error_name(status.error())) + ": " + status.message();
}

/// Whether an expected error occurred, and no other one.
bool as_wanted(const Status& status, const std::string& wanted, Outcome* out) {
  if (status.ok() ? wanted.empty() : wanted == error_name(status.error())) return true;
  out->kind =
      status.error() == Error::kUnsupported ? Outcome::Kind::kUnsupported : Outcome::Kind::kFailed;
  out->message = wanted.empty() ? text_of(status)
                                : "must be refused (" + wanted + "), but is " +
                                      (status.ok() ? "taken" : text_of(status));
  return false;
}

void fail(const std::string& message, Outcome* out) {
  out->kind = Outcome::Kind::kFailed;
  if (out->message.empty()) out->message = message;
}

/// One case on one session.
class SessionRun {
 public:
  SessionRun(const Case& c, const std::string& folder, const Method& method, Session* session)
      : case_(c), folder_(folder), method_(method), session_(*session) {}

  void run(Outcome* out) {
    for (const Step& step : case_.steps) {
      if (step.sample && *step.sample >= method_.sample_count())
        return fail("the method has no sample " + std::to_string(*step.sample), out);
      const Status set = set_inputs(step);
      // Inputs of a shape that the method does not take are refused where they are set.
      const double begin = run::now_ms();
      const Status ran = set.ok() ? session_.run() : set;
      out->milliseconds += run::now_ms() - begin;
      if (!as_wanted(ran, step.error, out)) return;
      if (ran.ok()) check_outputs(step, out);
    }
  }

 private:
  Status set_inputs(const Step& step) {
    if (step.sample) LAZYRT_RETURN_IF_ERROR(session_.reset_state());
    for (size_t i = 0; i < method_.input_count(); ++i) {
      if (step.sample) {
        LAZYRT_RETURN_IF_ERROR(session_.set_input(i, method_.sample_input(*step.sample, i)));
      } else {
        run::HostTensor tensor = run::read_npy(folder_ + "/" + step.inputs.at(i));
        LAZYRT_RETURN_IF_ERROR(session_.set_input(i, tensor.view()));
      }
    }
    return {};
  }

  void check_outputs(const Step& step, Outcome* out) {
    if (step.sample && *session_.variant() != method_.sample_variant(*step.sample)) {
      return fail("variant " + std::to_string(*session_.variant()) + " ran", out);
    }
    for (size_t i = 0; i < method_.output_count(); ++i) {
      const Result<TensorView> actual = session_.output(i);
      if (!actual.ok()) return fail(text_of(actual.status()), out);
      if (step.sample) {
        check(i, *actual, method_.sample_output(*step.sample, i), tolerance(step, actual->dtype),
              out);
      } else {
        run::HostTensor expected = run::read_npy(folder_ + "/" + step.outputs.at(i));
        check(i, *actual, expected.view(), tolerance(step, actual->dtype), out);
      }
    }
  }

  Tolerance tolerance(const Step& step, DType dtype) const {
    const auto given = [](const Tolerance& t) { return t.absolute != 0 || t.relative != 0; };
    if (given(case_.tolerance)) return case_.tolerance;
    if (!step.sample) return run::default_tolerance(dtype);
    const Tolerance told = method_.sample_tolerance(*step.sample);
    return given(told) ? told : run::default_tolerance(dtype);
  }

  void check(size_t i, const TensorView& actual, const TensorView& expected,
             const Tolerance& tolerance, Outcome* out) {
    const std::string name = std::string("output '") + method_.output(i).name + "'";
    const run::Difference d = run::compare(actual, expected, tolerance);
    if (!d.same_type) {
      return fail(name + " is " + run::type_text(actual.dtype, actual.shape) + ", must be " +
                      run::type_text(expected.dtype, expected.shape),
                  out);
    }
    out->max_error = std::max(out->max_error, d.max_abs_error);
    if (d.ok()) return;
    fail(name + ": element " + std::to_string(d.at) + " is " +
             std::to_string(run::element(actual, d.at)) + ", must be " +
             std::to_string(run::element(expected, d.at)) + " within " + std::to_string(d.allowed),
         out);
  }

  const Case& case_;
  const std::string& folder_;
  const Method& method_;
  Session& session_;
};

}  // namespace

Status CaseRunner::open(const std::string& bundle) {
  if (program_ && open_bundle_ == bundle) return {};
  program_.reset();
  LoadOptions load;
  load.check_data = true;
  Result<Program> opened =
      Program::open((options_.folder + "/" + bundle).c_str(), default_ops(), load);
  if (!opened.ok()) return opened.status();
  program_.emplace(std::move(*opened));
  open_bundle_ = bundle;
  return {};
}

Outcome CaseRunner::run(const Case& c, const Backend* backend) {
  Outcome out;
  const Status opened = open(c.bundle);
  if (!as_wanted(opened, c.load_error, &out) || !opened.ok()) return out;
  const Result<Method> method =
      c.method.empty() ? Result<Method>(program_->method(0)) : program_->method(c.method);
  if (!as_wanted(method.status(), "", &out)) return out;
  SessionOptions options;
  options.backend = backend;
  options.threads = options_.threads;
  Result<Session> session = Session::create(*method, options);
  if (!as_wanted(session.status(), "", &out)) return out;
  try {
    SessionRun(c, options_.folder, *method, &*session).run(&out);
  } catch (const std::exception& error) {  // a file of the case
    fail(error.what(), &out);
  }
  return out;
}

}  // namespace lazyrt::conformance
