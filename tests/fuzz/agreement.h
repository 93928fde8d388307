#pragma once

#include <string>

#include "lazyrt/span.h"

namespace lazyrt::fuzz {

/// How far inputs got, for who wants to know whether they are worth anything.
struct Reached {
  int inputs = 0, loaded = 0, sessions = 0, runs = 0, compared = 0, nodes_alone = 0;
  int following = 0;  ///< programs with a session and an extent that follows from a symbol
  int resized = 0;    ///< runs at other sizes than the file's that gave results on both backends
  int wild = 0;       ///< programs with wild patches that gave a result at other sizes
};

/// Loads the file, and if the loader takes it prepares and runs it, on cpu and on reference, within
/// 1 GiB and 2 seconds, each variant at several of its sizes and half of the time with a watch.
/// Empty, or what they do not agree on: the error, or results as far as
/// exactness_of binds them; a node whose results it leaves open is compared again, alone. Of a
/// bundle with wild patches (patch_edit.h) only memory, and the types of tapped values, are
/// compared.
std::string disagreement(Span<const uint8_t> file, Reached* reached = nullptr);

}  // namespace lazyrt::fuzz
