#pragma once

// What an application on a machine without an operating system may tell the runtime.

#include <cstdint>

namespace lazyrt {

/// A clock that never goes back, in nanoseconds; its zero means nothing. For
/// SessionOptions::deadline_nanoseconds and profile.
using TicksHook = uint64_t (*)();

/// nullptr, as it starts: time stands still, so no deadline is ever over.
void set_ticks_hook(TicksHook hook);

}  // namespace lazyrt
