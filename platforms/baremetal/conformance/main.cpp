// lazyrt-conformance for a processor without an operating system: reads the host's folder of
// bundles by semihosting, runs each case that fits on the reference backend, in static memory, and
// reports on the host's console. Exit codes as those of platforms/posix/conformance.

#include <cstdio>
#include <cstring>
#include <optional>

#include "lazyrt/runtime.h"
#include "lazyrt/static_memory.h"
#include "platforms/baremetal/conformance/case_list.h"
#include "platforms/baremetal/conformance/npy_view.h"
#include "platforms/baremetal/semihosting.h"
#include "platforms/posix/lazy_run/compare.h"

namespace lazyrt::conformance {
namespace {

constexpr int kOk = 0, kUsage = 1, kIo = 3, kMismatch = 4;

/// Built with LAZYRT_PROFILE=embedded: cases with other sizes are refused.
#if defined(LAZYRT_DYNAMIC_SHAPES) && !LAZYRT_DYNAMIC_SHAPES
constexpr bool kFixedShapes = true;
#else
constexpr bool kFixedShapes = false;
#endif

#define LAZYRT_BOARD_RAM __attribute__((section(".lazyrt_board_ram"))) alignas(64)
LAZYRT_BOARD_RAM char list_text[1 << 20];
LAZYRT_BOARD_RAM uint8_t bundle_bytes[7 << 20];
LAZYRT_BOARD_RAM uint8_t array_bytes[1 << 20];
LAZYRT_BOARD_RAM uint8_t pool[6 << 20];

struct Options {
  const char* folder = nullptr;
  const char* filter = "*";
  bool quiet = false;
};

enum class Verdict { kPass, kFail, kTooLarge, kNotBuilt };

/// What came of a case.
struct Outcome {
  Verdict verdict = Verdict::kPass;
  double max_error = 0;
  char message[320] = {};
};

/// "*" stands for any text.
bool matches(const char* pattern, const char* text) {
  if (*pattern == '\0') return *text == '\0';
  if (*pattern == '*')
    return matches(pattern + 1, text) || (*text != '\0' && matches(pattern, text + 1));
  return *pattern == *text && matches(pattern + 1, text + 1);
}

/// "1.5e-07": newlib-nano prints no floating-point numbers.
struct NumberText {
  char text[24];
  explicit NumberText(double x) {
    int exponent = 0;
    if (!(x > 0) || x > 1e300) {
      std::snprintf(text, sizeof(text), x > 0 ? "inf" : "0");
      return;
    }
    for (; x >= 9.95; x /= 10) ++exponent;
    for (; x < 0.995; x *= 10) --exponent;
    const int tenths = static_cast<int>(x * 10 + 0.5);
    std::snprintf(text, sizeof(text), "%d.%de%d", tenths / 10, tenths % 10, exponent);
  }
};

void fail(Outcome* out, const char* what, const char* detail) {
  out->verdict = Verdict::kFail;
  if (out->message[0] == '\0')
    std::snprintf(out->message, sizeof(out->message), "%s%s", what, detail);
}

/// Whether an expected error occurred, and no other one.
bool as_wanted(const Status& status, const char* wanted, Outcome* out) {
  if (status.ok() ? wanted[0] == '\0' : std::strcmp(wanted, error_name(status.error())) == 0)
    return true;
  if (status.error() == Error::kOutOfMemory) {
    out->verdict = Verdict::kTooLarge;
    return false;
  }
  if (kFixedShapes && status.error() == Error::kUnsupported) {
    out->verdict = Verdict::kNotBuilt;
    return false;
  }
  fail(out, wanted[0] == '\0' ? "" : "must be refused, but: ",
       status.ok() ? "ok" : error_name(status.error()));
  if (!status.ok() && status.message()[0] != '\0') {
    const size_t used = std::strlen(out->message);
    std::snprintf(out->message + used, sizeof(out->message) - used, ": %s", status.message());
  }
  return false;
}

const char* path_of(const Options& options, const char* name) {
  static char path[512];
  std::snprintf(path, sizeof(path), "%s/%s", options.folder, name);
  return path;
}

/// Runs the cases one by one; a bundle stays open from one to the next.
class Runner {
 public:
  explicit Runner(const Options& options) : options_(options) {}

  Outcome run(const ListedCase& c, CaseList* list) {
    Outcome out;
    Status opened;
    if (!open(c.bundle, &opened)) {
      out.verdict = Verdict::kTooLarge;
      return out;
    }
    if (!as_wanted(opened, c.load_error, &out) || !opened.ok()) return out;
    const Result<Method> method =
        c.method[0] == '\0' ? Result<Method>(program_->method(0)) : program_->method(c.method);
    if (!as_wanted(method.status(), "", &out)) return out;
    SessionOptions session_options;
    session_options.backend = reference_backend();
    session_options.allocator = memory_->hooks();
    Result<Session> session = Session::create(*method, session_options);
    if (!as_wanted(session.status(), "", &out)) return out;
    ListedStep step;
    while (list->next_step(&step)) {
      if (!run_step(c, step, *method, &*session, &out)) break;
    }
    return out;
  }

 private:
  /// False: the file is larger than the memory for it.
  bool open(const char* bundle, Status* status) {
    if (std::strcmp(bundle, open_bundle_) == 0) {
      *status = opened_;
      return true;
    }
    open_bundle_ = "";
    program_.reset();
    const int32_t bytes =
        semihosting::read_file(path_of(options_, bundle), bundle_bytes, sizeof(bundle_bytes));
    if (bytes < 0) return false;
    memory_.emplace(pool, sizeof(pool));
    LoadOptions load;
    load.check_data = true;
    load.allocator = memory_->hooks();
    Result<Program> program =
        Program::load({bundle_bytes, static_cast<size_t>(bytes)}, default_ops(), load);
    opened_ = program.status();
    if (program.ok()) program_.emplace(std::move(*program));
    open_bundle_ = bundle;
    *status = opened_;
    return true;
  }

  bool run_step(const ListedCase& c, const ListedStep& step, const Method& method, Session* session,
                Outcome* out) {
    arrays_used_ = 0;
    if (step.sample >= 0 && static_cast<size_t>(step.sample) >= method.sample_count()) {
      fail(out, "the method has no such sample", "");
      return false;
    }
    const Status set = set_inputs(step, method, session);
    const Status ran = set.ok() ? session->run() : set;
    if (!as_wanted(ran, step.error, out)) return false;
    if (!ran.ok()) return true;
    if (step.sample >= 0 &&
        *session->variant() != method.sample_variant(static_cast<size_t>(step.sample))) {
      fail(out, "another variant ran", "");
      return false;
    }
    for (size_t i = 0; i < method.output_count(); ++i)
      check_output(c, step, method, session, i, out);
    return out->verdict == Verdict::kPass;
  }

  Status set_inputs(const ListedStep& step, const Method& method, Session* session) {
    if (step.sample >= 0) LAZYRT_RETURN_IF_ERROR(session->reset_state());
    for (size_t i = 0; i < method.input_count(); ++i) {
      TensorView x;
      if (step.sample >= 0) {
        x = method.sample_input(static_cast<size_t>(step.sample), i);
      } else {
        LAZYRT_RETURN_IF_ERROR(read_array(step, i, &x));
      }
      LAZYRT_RETURN_IF_ERROR(session->set_input(i, x));
    }
    return {};
  }

  /// Array number i of the step.
  Status read_array(const ListedStep& step, size_t i, TensorView* view) {
    if (i >= static_cast<size_t>(step.file_count))
      return Status(Error::kInternal, "the list names too few arrays");
    uint8_t* to = array_bytes + arrays_used_;
    const int32_t bytes = semihosting::read_file(path_of(options_, step.files[i]), to,
                                                 sizeof(array_bytes) - arrays_used_);
    if (bytes < 0) return Status(Error::kIo, "cannot read '%.200s'", step.files[i]);
    arrays_used_ += (static_cast<size_t>(bytes) + 63) / 64 * 64;
    return view_npy({to, static_cast<size_t>(bytes)}, view);
  }

  void check_output(const ListedCase& c, const ListedStep& step, const Method& method,
                    Session* session, size_t i, Outcome* out) {
    const Result<TensorView> actual = session->output(i);
    if (!actual.ok()) return fail(out, "no output", "");
    TensorView expected;
    Tolerance told;
    if (step.sample >= 0) {
      expected = method.sample_output(static_cast<size_t>(step.sample), i);
      told = method.sample_tolerance(static_cast<size_t>(step.sample));
    } else if (!read_array(step, method.input_count() + i, &expected).ok()) {
      return fail(out, "cannot read the expected output", "");
    }
    if (actual->dtype != expected.dtype || actual->shape != expected.shape)
      return fail(out, "an output has another dtype or shape", "");
    Tolerance tolerance = {c.tolerance, c.tolerance};
    if (c.tolerance == 0)
      tolerance =
          told.absolute != 0 || told.relative != 0 ? told : run::default_tolerance(expected.dtype);
    const run::Difference d = run::compare(*actual, expected, tolerance);
    out->max_error = d.max_abs_error > out->max_error ? d.max_abs_error : out->max_error;
    if (!d.ok()) fail(out, "allowed is an error of ", NumberText(d.allowed).text);
  }

  const Options& options_;
  std::optional<StaticMemory> memory_;
  std::optional<Program> program_;
  const char* open_bundle_ = "";
  Status opened_;
  size_t arrays_used_ = 0;
};

void tell(const ListedCase& c, const Outcome& outcome) {
  static const char* const kVerdicts[] = {"pass", "FAIL", "too large", "not built"};
  char line[600];
  std::snprintf(line, sizeof(line), "%-9s %s  error %s  %s\n",
                kVerdicts[static_cast<int>(outcome.verdict)], c.id,
                NumberText(outcome.max_error).text, outcome.message);
  semihosting::write(line);
}

bool parse(char* line, Options* options) {
  char* rest = nullptr;
  for (char* word = strtok_r(line, " ", &rest); word != nullptr;
       word = strtok_r(nullptr, " ", &rest)) {
    if (std::strcmp(word, "--quiet") == 0) {
      options->quiet = true;
    } else if (std::strcmp(word, "--filter") == 0) {
      options->filter = strtok_r(nullptr, " ", &rest);
      if (options->filter == nullptr) return false;
    } else if (word[0] == '-' || options->folder != nullptr) {
      return false;
    } else {
      options->folder = word;
    }
  }
  return options->folder != nullptr;
}

int run_all(const Options& options) {
  const int32_t bytes =
      semihosting::read_file(path_of(options, "manifest.txt"), list_text, sizeof(list_text) - 1);
  if (bytes < 0) {
    semihosting::write("cannot read the folder's manifest.txt\n");
    return kIo;
  }
  list_text[bytes] = '\0';
  CaseList list(list_text);
  static Runner runner(options);
  int counts[4] = {};
  ListedCase c;
  while (list.next_case(&c)) {
    if (!matches(options.filter, c.id)) continue;
    semihosting::set_task(c.id);
    const Outcome outcome = runner.run(c, &list);
    ++counts[static_cast<int>(outcome.verdict)];
    if (!options.quiet || outcome.verdict != Verdict::kPass) tell(c, outcome);
  }
  char line[120];
  std::snprintf(
      line, sizeof(line),
      "%d passed, %d failed, %d too large for this machine, %d of other sizes, not built\n",
      counts[0], counts[1], counts[2], counts[3]);
  semihosting::write(line);
  if (list.is_damaged() || counts[0] == 0) {
    semihosting::write("no case matches, or manifest.txt is damaged\n");
    return kUsage;
  }
  return counts[1] == 0 ? kOk : kMismatch;
}

}  // namespace
}  // namespace lazyrt::conformance

int main() {
  using namespace lazyrt;
  static char line[1024];
  static conformance::Options options;
  if (!semihosting::command_line(line, sizeof(line)) || !conformance::parse(line, &options)) {
    semihosting::write("usage: lazyrt-conformance FOLDER [--filter PATTERN] [--quiet]\n");
    return conformance::kUsage;
  }
  return conformance::run_all(options);
}
