#include "platforms/posix/conformance/isolation.h"

#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "platforms/posix/conformance/frame.h"
#include "platforms/posix/lazy_run/bench.h"
#include "platforms/posix/lazy_run/failure.h"

namespace lazyrt::conformance {
namespace {

bool write_all(int fd, const void* data, size_t bytes) {
  const char* at = static_cast<const char*>(data);
  while (bytes > 0) {
    const ssize_t n = write(fd, at, bytes);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    at += n;
    bytes -= static_cast<size_t>(n);
  }
  return true;
}

bool write_outcome(int fd, const Outcome& o) {
  const Frame frame = frame_of(o);
  return write_all(fd, &frame, sizeof(frame)) &&
         write_all(fd, o.message.data(), frame.message_bytes);
}

Answer read_all(int fd, void* data, size_t bytes, double deadline_ms) {
  char* at = static_cast<char*>(data);
  while (bytes > 0) {
    const double left = deadline_ms - run::now_ms();
    pollfd waiting = {fd, POLLIN, 0};
    const int ready = left <= 0 ? 0 : poll(&waiting, 1, static_cast<int>(left) + 1);
    if (ready < 0 && errno == EINTR) continue;
    if (ready == 0) return Answer::kLate;
    const ssize_t n = read(fd, at, bytes);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return Answer::kEnded;
    at += n;
    bytes -= static_cast<size_t>(n);
  }
  return Answer::kWhole;
}

Answer read_outcome(int fd, double deadline_ms, Outcome* out) {
  Frame frame;
  const Answer header = read_all(fd, &frame, sizeof(frame), deadline_ms);
  if (header != Answer::kWhole) return header;
  if (!is_valid(frame)) return Answer::kGarbled;
  *out = outcome_of(frame);
  return read_all(fd, out->message.data(), frame.message_bytes, deadline_ms);
}

/// A child process that works from one index on.
class Worker {
 public:
  Worker(size_t first, size_t count, const std::function<Outcome(size_t)>& work) {
    int ends[2];
    if (pipe(ends) != 0) throw run::Failure(run::ExitCode::kRun, "no pipe for a worker");
    std::fflush(nullptr);  // or the child would write it again
    child_ = fork();
    if (child_ < 0) throw run::Failure(run::ExitCode::kRun, "no process for a worker");
    if (child_ == 0) {
      close(ends[0]);
      bool heard = true;
      for (size_t i = first; heard && i < count; ++i) heard = write_outcome(ends[1], work(i));
      _exit(0);
    }
    close(ends[1]);
    answers_ = ends[0];
  }
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;
  ~Worker() {
    if (child_ > 0) end();
    close(answers_);
  }

  Answer next(double deadline_ms, Outcome* out) { return read_outcome(answers_, deadline_ms, out); }

  /// Ends the child; says how it ended.
  std::string end() {
    kill(child_, SIGKILL);  // if the child has ended already, only its status is left
    int status = 0;
    while (waitpid(child_, &status, 0) < 0 && errno == EINTR) {
    }
    child_ = -1;
    if (WIFSIGNALED(status)) {
      return std::string("ended by signal ") + std::to_string(WTERMSIG(status)) + " (" +
             strsignal(WTERMSIG(status)) + ")";
    }
    return "ended with exit code " + std::to_string(WEXITSTATUS(status));
  }

 private:
  pid_t child_ = -1;
  int answers_ = -1;
};

}  // namespace

void run_isolated(size_t count, double limit_seconds, const std::function<Outcome(size_t)>& work,
                  const std::function<void(size_t, const Outcome&)>& done) {
  collect(
      count, limit_seconds, run::now_ms, [&](size_t first) { return Worker(first, count, work); },
      done);
}

}  // namespace lazyrt::conformance
