#pragma once

#include <cstddef>

namespace lazyrt::test {

/// Marks what is free of the stack below the caller.
void paint_stack();
/// The most that the stack had since then, the caller's part included.
size_t stack_bytes_used();

}  // namespace lazyrt::test
