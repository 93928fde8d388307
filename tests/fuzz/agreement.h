#pragma once

#include <string>

#include "lazyrt/span.h"

namespace lazyrt::fuzz {

/// How far inputs got, for who wants to know whether they are worth anything.
struct Reached {
  int inputs = 0, loaded = 0, sessions = 0, runs = 0, compared = 0, nodes_alone = 0;
  int following = 0;  ///< programs with a session and an extent that follows from a symbol
};

/// Loads the file, and if the loader takes it prepares and runs it, on cpu and on reference, within
/// 1 GiB and 2 seconds. Empty, or what they do not agree on: the error, or results as far as
/// exactness_of binds them; a node whose results it leaves open is compared again, alone.
std::string disagreement(Span<const uint8_t> file, Reached* reached = nullptr);

}  // namespace lazyrt::fuzz
