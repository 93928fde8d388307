#pragma once

#include "lazyrt/error.h"
#include "lazyrt/log.h"

namespace lazyrt {

/// Whether there is a hook: if not, a line's arguments need not be computed.
bool has_log_hook();

/// Hands the formatted line (at most 400 bytes) to the hook, if there is one. Never allocates.
#if LAZYRT_MESSAGES
void log_line(LogLevel level, const char* format, ...) __attribute__((format(printf, 2, 3)));
#else
/// As Status::message().
void log_code(LogLevel level, const Status& status);
template <size_t N, class... Args>
__attribute__((always_inline)) inline void log_line(LogLevel level, const char (&format)[N],
                                                    const Args&... args) {
  log_code(level, Status(Error::kInternal, format, args...));
}
#endif

}  // namespace lazyrt
