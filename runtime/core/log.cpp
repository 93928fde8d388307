#include "runtime/core/log.h"

#include <atomic>
#include <cstdarg>
#include <cstdio>

namespace lazyrt {
namespace {

std::atomic<LogHook> log_hook{nullptr};

}  // namespace

bool has_log_hook() { return log_hook.load() != nullptr; }

void set_log_hook(LogHook hook) { log_hook.store(hook); }

#if LAZYRT_MESSAGES
void log_line(LogLevel level, const char* format, ...) {
  const LogHook hook = log_hook.load();
  if (hook == nullptr) return;
  char line[400];
  va_list args;
  va_start(args, format);
  vsnprintf(line, sizeof(line), format, args);
  va_end(args);
  hook(level, line);
}
#else
void log_code(LogLevel level, const Status& status) {
  const LogHook hook = log_hook.load();
  if (hook != nullptr) hook(level, status.message());
}
#endif

}  // namespace lazyrt
