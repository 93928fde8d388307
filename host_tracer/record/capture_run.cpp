#include "host_tracer/record/capture_run.h"

#include <ATen/ATen.h>
#include <ATen/FunctionalTensorWrapper.h>

#include "host_tracer/record/lazy_backend.h"

namespace lazyrt {
namespace {

std::mutex& process_mutex() {
  static auto* mutex = new std::mutex();
  return *mutex;
}

/// Whether this thread's program takes gradients, as far as is known: most do not, and record none.
thread_local bool t_gradients = false;

/// Calls fn; keeps an exception for the caller of the capture, then rethrows it.
template <typename Fn>
void remembering(const CaptureRequest& request, const Fn& fn) {
  try {
    fn();
  } catch (...) {
    if (request.thrown) *request.thrown = std::current_exception();
    throw;
  }
}

/// Calls fn; returns the text of an exception, or nothing.
template <typename Fn>
std::optional<std::string> error_of(const Fn& fn) {
  try {
    fn();
    return std::nullopt;
  } catch (const c10::Error& e) {
    return e.what_without_backtrace();
  } catch (const std::exception& e) {
    return std::string("the program failed while it was captured: ") + e.what();
  } catch (...) {
    return "the program failed while it was captured";
  }
}

void run_session(CaptureSession& session, const CaptureProgram& program, ProgramRun& result) {
  const CaptureRequest& request = session.request();
  const auto error = error_of([&] {
    std::vector<at::Tensor> outputs;
    if (session.log().first_run()) {
      remembering(request, [&] { outputs = program(session.inputs()); });
    } else {
      outputs = program(session.inputs());
    }
    result.run = session.finish(outputs, request.output_names);
  });
  if (error) result.error = *error;
  if (session.reads_earlier()) result.reads_earlier = session.earlier();
  if (request.keeps_nothing && !error) result.kept = session.kept_tensors();
  result.parted = session.log().parted();
  result.position = session.log().position();
  result.syncs = session.log().syncs().size();
}

ProgramRun run_once(const CaptureRequest& request, const CaptureProgram& program,
                    const RunScript* script) {
  const at::AutoGradMode grad_mode(t_gradients);
  const at::functionalization::impl::FunctionalizationReapplyViewsGuard copies(false);
  const TrimGraphOff whole_graph;
  ProgramRun result;
  result.gradients = t_gradients;
  std::unique_ptr<CaptureSession> session;
  const auto error = error_of([&] {
    remembering(request, [&] {
      if (request.before_trace) request.before_trace();
    });
    session = std::make_unique<CaptureSession>(request, script);
  });
  if (!session) {
    result.ours = true;
    result.error = error.value_or("");
    return result;
  }
  run_session(*session, program, result);
  return result;
}

/// Whether the run failed because autograd.grad was taken of something computed without recording
/// gradients, or because of a hook on it.
bool lacks_gradients(const ProgramRun& run) {
  const auto says = [&](const char* text) { return run.error.find(text) != std::string::npos; };
  return !run.run && (says("does not require grad") || says("doesn't require grad") ||
                      says("that has requires_grad=False"));
}

}  // namespace

CaptureTurn::CaptureTurn() : lock_(process_mutex()) { t_gradients = false; }

ProgramRun run_program(const CaptureRequest& request, const CaptureProgram& program,
                       const RunScript* script) {
  ProgramRun result = run_once(request, program, script);
  if (t_gradients || !lacks_gradients(result)) return result;
  t_gradients = true;
  if (request.thrown) *request.thrown = nullptr;
  return run_once(request, program, script);
}

}  // namespace lazyrt
