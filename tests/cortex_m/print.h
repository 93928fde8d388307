#pragma once

namespace lazyrt::test {

/// At most 400 bytes, on the host's console. Knows %s, %u and %d alone: what newlib's printf takes
/// of flash is not what the tests measure.
void print(const char* format, ...) __attribute__((format(printf, 1, 2)));

}  // namespace lazyrt::test
