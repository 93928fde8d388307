#pragma once

#include <cstdint>

namespace lazyrt::fuzz {

/// Integers that tend to break things.
inline constexpr int64_t kNumbers[] = {0,
                                       1,
                                       -1,
                                       2,
                                       3,
                                       4,
                                       5,
                                       7,
                                       8,
                                       16,
                                       31,
                                       33,
                                       63,
                                       64,
                                       65,
                                       127,
                                       128,
                                       255,
                                       256,
                                       1000,
                                       4096,
                                       65535,
                                       65536,
                                       INT32_MAX,
                                       INT32_MIN,
                                       INT64_MAX,
                                       INT64_MIN,
                                       int64_t{1} << 30,
                                       int64_t{1} << 31,
                                       int64_t{1} << 32,
                                       int64_t{1} << 40,
                                       int64_t{1} << 58,
                                       int64_t{1} << 62};

}  // namespace lazyrt::fuzz
