#pragma once

#include <string>
#include <string_view>

namespace lazyrt {

/// A text of a bundle or model as a terminal may be given it: control characters, characters that
/// change the direction of writing and what is not UTF-8 become "\x1b", "\u202e".
std::string printable(std::string_view text);

/// The same of a text of several lines, whose newlines stay.
std::string printable_lines(std::string_view text);

/// JSON as a terminal may be given it: characters that JSON itself lets through are escaped in its
/// own way. REQUIRES: it is UTF-8.
std::string printable_json(std::string_view json);

}  // namespace lazyrt
