#pragma once

#include "lazyrt/log.h"

namespace lazyrt {

/// Hands the formatted line (at most 400 bytes) to the hook, if there is one. Never allocates.
void log_line(LogLevel level, const char* format, ...) __attribute__((format(printf, 2, 3)));

}  // namespace lazyrt
