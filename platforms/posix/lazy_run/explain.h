#pragma once

#include <string>

#include "lazyrt/op_uses.h"

namespace lazyrt::run {

/// The text of a Status's message() as a library without texts gives it ("1a2b3c4d,7,-1:12"), with
/// the node of the bundle that it names. What the library did not keep, names of the caller or of
/// the bundle, is "...". Throws Failure: no code, or none of this version's.
std::string explain(const std::string& code, const std::string& bundle, const OpTable& ops);

/// The text of that id (text_id), nullptr where there is none. For tests.
const char* find_text(uint32_t id);

}  // namespace lazyrt::run
