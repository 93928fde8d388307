#include "platforms/posix/conformance/isolation.h"

#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "platforms/posix/lazy_run/bench.h"
#include "platforms/posix/lazy_run/failure.h"

namespace lazyrt::conformance {
namespace {

/// What the worker says of each case, before the message's bytes.
struct Frame {
  Outcome::Kind kind = Outcome::Kind::kPassed;
  uint32_t message_bytes = 0;
  double max_error = 0;
  double milliseconds = 0;
};

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
  const Frame frame = {o.kind, static_cast<uint32_t>(o.message.size()), o.max_error,
                       o.milliseconds};
  return write_all(fd, &frame, sizeof(frame)) && write_all(fd, o.message.data(), o.message.size());
}

enum class Answer : uint8_t { kWhole, kEnded, kLate };

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
  *out = {frame.kind, frame.max_error, frame.milliseconds, std::string(frame.message_bytes, ' ')};
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
    kill(child_, SIGKILL);  // of one that has ended already nothing is left but its status
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
  for (size_t next = 0; next < count;) {
    Worker worker(next, count, work);
    for (bool alive = true; alive && next < count; ++next) {
      Outcome outcome;
      const Answer answer = worker.next(run::now_ms() + limit_seconds * 1e3, &outcome);
      alive = answer == Answer::kWhole;
      if (answer == Answer::kEnded) {
        outcome = {Outcome::Kind::kCrashed, 0, 0, "its process " + worker.end()};
      } else if (answer == Answer::kLate) {
        (void)worker.end();
        outcome = {Outcome::Kind::kTimedOut, 0, limit_seconds * 1e3, "took longer than it may"};
      }
      done(next, outcome);
    }
  }
}

}  // namespace lazyrt::conformance
