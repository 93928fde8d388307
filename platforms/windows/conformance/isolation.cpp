#include "platforms/posix/conformance/isolation.h"

#include <windows.h>

#include <cstdlib>

#include "platforms/posix/conformance/frame.h"
#include "platforms/posix/lazy_run/bench.h"
#include "platforms/posix/lazy_run/failure.h"

// A worker is this program once more, with the same command line and a variable that says which
// case is its first and which pipe its answers go to.

namespace lazyrt::conformance {
namespace {

constexpr const char* kVariable = "LAZYRT_CONFORMANCE_WORKER";

bool write_all(HANDLE pipe, const void* data, size_t bytes) {
  DWORD written = 0;
  return bytes == 0 ||
         (WriteFile(pipe, data, static_cast<DWORD>(bytes), &written, nullptr) && written == bytes);
}

[[noreturn]] void work_as_told(const char* told, size_t count,
                               const std::function<Outcome(size_t)>& work) {
  char* end = nullptr;
  const size_t first = std::strtoull(told, &end, 10);
  const auto pipe = reinterpret_cast<HANDLE>(std::strtoull(end, nullptr, 10));
  bool heard = true;
  for (size_t i = first; heard && i < count; ++i) {
    const Outcome outcome = work(i);
    const Frame frame = frame_of(outcome);
    heard = write_all(pipe, &frame, sizeof(frame)) &&
            write_all(pipe, outcome.message.data(), frame.message_bytes);
  }
  ExitProcess(0);
}

class Worker {
 public:
  explicit Worker(size_t first) {
    SECURITY_ATTRIBUTES inherited = {sizeof(inherited), nullptr, TRUE};
    HANDLE write = nullptr;
    if (!CreatePipe(&answers_, &write, &inherited, 0)) {
      throw run::Failure(run::ExitCode::kRun, "no pipe for a worker");
    }
    SetHandleInformation(answers_, HANDLE_FLAG_INHERIT, 0);
    const std::string told =
        std::to_string(first) + " " + std::to_string(reinterpret_cast<uintptr_t>(write));
    SetEnvironmentVariableA(kVariable, told.c_str());
    STARTUPINFOA startup = {};
    startup.cb = sizeof(startup);
    PROCESS_INFORMATION process = {};
    std::string command = GetCommandLineA();
    const BOOL started = CreateProcessA(nullptr, command.data(), nullptr, nullptr, TRUE, 0, nullptr,
                                        nullptr, &startup, &process);
    SetEnvironmentVariableA(kVariable, nullptr);
    CloseHandle(write);
    if (!started) {
      CloseHandle(answers_);
      throw run::Failure(run::ExitCode::kRun, "no process for a worker");
    }
    CloseHandle(process.hThread);
    process_ = process.hProcess;
  }
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;
  ~Worker() {
    (void)end();
    CloseHandle(answers_);
  }

  Answer next(double deadline_ms, Outcome* out) {
    Frame frame;
    const Answer header = read_all(&frame, sizeof(frame), deadline_ms);
    if (header != Answer::kWhole) return header;
    if (!is_valid(frame)) return Answer::kGarbled;
    *out = outcome_of(frame);
    return read_all(out->message.data(), frame.message_bytes, deadline_ms);
  }

  /// Ends the process; says how it ended.
  std::string end() {
    if (process_ == nullptr) return "";
    // One that is about to end by itself has closed its pipe already.
    constexpr DWORD kPatience = 100, kKilled = 258;
    if (WaitForSingleObject(process_, kPatience) != WAIT_OBJECT_0) {
      TerminateProcess(process_, kKilled);
      WaitForSingleObject(process_, INFINITE);
    }
    DWORD code = 0;
    GetExitCodeProcess(process_, &code);
    CloseHandle(process_);
    process_ = nullptr;
    return "ended with exit code " + std::to_string(code);
  }

 private:
  Answer read_all(void* data, size_t bytes, double deadline_ms) {
    char* at = static_cast<char*>(data);
    while (bytes > 0) {
      DWORD ready = 0, got = 0;
      if (!PeekNamedPipe(answers_, nullptr, 0, nullptr, &ready, nullptr)) return Answer::kEnded;
      if (ready == 0) {
        if (run::now_ms() > deadline_ms) return Answer::kLate;
        Sleep(1);
        continue;
      }
      const auto wanted = static_cast<DWORD>(bytes < ready ? bytes : ready);
      if (!ReadFile(answers_, at, wanted, &got, nullptr) || got == 0) return Answer::kEnded;
      at += got;
      bytes -= got;
    }
    return Answer::kWhole;
  }

  HANDLE answers_ = nullptr, process_ = nullptr;
};

}  // namespace

void run_isolated(size_t count, double limit_seconds, const std::function<Outcome(size_t)>& work,
                  const std::function<void(size_t, const Outcome&)>& done) {
  if (const char* told = std::getenv(kVariable)) work_as_told(told, count, work);
  collect(
      count, limit_seconds, run::now_ms, [](size_t first) { return Worker(first); }, done);
}

}  // namespace lazyrt::conformance
