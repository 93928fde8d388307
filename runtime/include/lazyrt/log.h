#pragma once

#include <cstdint>

namespace lazyrt {

enum class LogLevel : uint8_t {
  kInfo = 0,     ///< e.g. which node falls back to a reference kernel, and why
  kWarning = 1,  ///< something works, but not as asked for
};

/// Gets one line of text, without the line's end, valid during the call. May be called from any
/// thread.
using LogHook = void (*)(LogLevel level, const char* message);

/// Where the runtime's messages go; nullptr, as it starts: nowhere. LazyRT itself never prints.
void set_log_hook(LogHook hook);

}  // namespace lazyrt
