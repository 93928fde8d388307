#pragma once

#include <string>
#include <vector>

#include "platforms/posix/lazy_run/report.h"

namespace lazyrt::run {

/// What a session does, as trace events for Perfetto and chrome://tracing:
/// https://docs.google.com/document/d/1CvAClvFfyA5R-PhYUmn5OOQtYMCh6iTrJT8WdCuwYC4
class TraceEvents {
 public:
  /// What a Watch tells.
  void take(const RunSpan& span);
  /// A stretch of the program's own: "load", from `begin` (now_ns) to now.
  void add(const std::string& name, uint64_t begin);
  /// Replaces the file, all or nothing. `about`: what the trace is of, shown beside it. Throws a
  /// Failure.
  void write(const std::string& path, int threads, const Json& about) const;
  void print(int threads, const Json& about, std::FILE* out) const;

  /// The clock of spans.
  static uint64_t now_ns();

 private:
  struct Event {
    std::string name;
    const char* category = "";
    uint64_t begin = 0;
    uint64_t end = 0;
    size_t nodes = 0;
    bool ok = true;
    NodeInfo node;  ///< its texts, but for the reason, live as long as the Program
    bool has_node = false;
    std::string reason;  ///< of a fallback
  };
  static Json to_json(const Event& event, uint64_t zero);

  /// A long benchmark has more: those after it are counted.
  static constexpr size_t kMostEvents = 500000;
  std::vector<Event> events_;
  size_t dropped_ = 0;
};

}  // namespace lazyrt::run
