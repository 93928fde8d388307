#pragma once

namespace lazyrt::test {

/// At most 400 bytes, on the host's console.
void print(const char* format, ...) __attribute__((format(printf, 1, 2)));

}  // namespace lazyrt::test
