#pragma once

// Texts of a bundle come from its author and are not trusted: how to make them safe to show.

#include <cstddef>
#include <string>
#include <string_view>

namespace lazyrt::run {

/// The longest text that a line or an entry of a report repeats: names of modules and files are
/// rarely longer, and a file may lend one text to all of its nodes.
constexpr size_t kLongestShown = 200;

/// The text with \xNN in place of each byte that could steer a terminal or fake a line: control
/// characters, line breaks, marks that turn the direction of writing, bytes that are not UTF-8.
/// Applied twice it changes nothing more.
std::string printable(std::string_view text);

/// As printable, but line breaks stay: for whole messages.
std::string printable_lines(std::string_view text);

/// At most `most` bytes of the text, then "..." if there are more; characters stay whole. Looks at
/// no more than that of the text, however long it is.
std::string shortened(const char* text, size_t most = kLongestShown);

/// For a line of text: shortened, then printable.
std::string shown(const char* text);

}  // namespace lazyrt::run
