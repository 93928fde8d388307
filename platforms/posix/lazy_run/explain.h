#pragma once

#include <string>

#include "lazyrt/op_uses.h"

namespace lazyrt::run {

/// The text for a Status's message() from a library without texts ("1a2b3c4d,7,-1:12"), with the
/// node of the bundle that it names. Names of the caller or of the bundle, which the library did
/// not keep, are "...". Throws Failure if it is not a code, or not one of this version.
std::string explain(const std::string& code, const std::string& bundle, const OpTable& ops);

/// The text of that id (text_id), nullptr where there is none. For tests.
const char* find_text(uint32_t id);

}  // namespace lazyrt::run
