#pragma once

// Hooks by which an application on a machine without an operating system serves the runtime.

#include <cstdint>

namespace lazyrt {

/// A clock that never goes back, in nanoseconds; its zero means nothing. For
/// SessionOptions::deadline_nanoseconds and profile.
using TicksHook = uint64_t (*)();

/// nullptr, as it starts: time stands still. Sessions with a deadline are refused then; while there
/// are some, a hook stays set.
void set_ticks_hook(TicksHook hook);

}  // namespace lazyrt
