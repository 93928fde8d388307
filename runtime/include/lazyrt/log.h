#pragma once

#include <cstdint>

namespace lazyrt {

enum class LogLevel : uint8_t {
  kInfo = 0,     ///< e.g. which node falls back to a reference kernel, and why
  kWarning = 1,  ///< something works, but not as asked for
};

/// Receives one line of text without its line end; the text is valid during the call. May be called
/// from any thread.
using LogHook = void (*)(LogLevel level, const char* message);

/// Sets the hook that receives the runtime's messages. nullptr, the default: they are dropped.
/// LazyRT itself never prints.
void set_log_hook(LogHook hook);

}  // namespace lazyrt
