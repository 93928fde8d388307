#pragma once

// Texts of a limited length.

#include <string>
#include <string_view>

namespace lazyrt {

/// What stands where something was cut off.
constexpr std::string_view kEllipsis = "...";

/// Whether a byte continues a character of UTF-8.
inline bool is_inside_character(char c) { return (static_cast<unsigned char>(c) & 0xc0) == 0x80; }

/// At most `most` bytes of a text: its beginning and "...", cut between two characters of UTF-8.
/// REQUIRES: most >= 3.
inline std::string shortened(std::string_view text, size_t most) {
  if (text.size() <= most) return std::string(text);
  size_t end = most - kEllipsis.size();
  for (int i = 0; i < 3 && end > 0 && is_inside_character(text[end]); ++i) --end;
  return std::string(text.substr(0, end)).append(kEllipsis);
}

/// The same with the end of the text, as file names are told apart by it.
inline std::string shortened_to_end(std::string_view text, size_t most) {
  if (text.size() <= most) return std::string(text);
  size_t begin = text.size() - (most - kEllipsis.size());
  for (int i = 0; i < 3 && begin < text.size() && is_inside_character(text[begin]); ++i) ++begin;
  return std::string(kEllipsis).append(text.substr(begin));
}

}  // namespace lazyrt
