#include "platforms/posix/lazy_run/text.h"

#include <cstdint>
#include <cstdio>
#include <cstring>

namespace lazyrt::run {
namespace {

struct Character {
  uint32_t code = 0;
  size_t bytes = 0;  ///< 0: not UTF-8
};

uint8_t byte_at(std::string_view text, size_t i) { return static_cast<uint8_t>(text[i]); }

/// The first character of a text that is not empty.
Character first_character(std::string_view text) {
  const uint8_t lead = byte_at(text, 0);
  if (lead < 0x80) return {lead, 1};
  const size_t bytes = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2;
  if (lead < 0xC2 || lead > 0xF4 || text.size() < bytes) return {};
  uint32_t code = lead & (0x7Fu >> bytes);
  for (size_t i = 1; i < bytes; ++i) {
    if ((byte_at(text, i) & 0xC0) != 0x80) return {};
    code = code << 6 | (byte_at(text, i) & 0x3Fu);
  }
  constexpr uint32_t kSmallest[] = {0, 0, 0x80, 0x800, 0x10000};
  const bool surrogate = code >= 0xD800 && code <= 0xDFFF;
  if (code < kSmallest[bytes] || code > 0x10FFFF || surrogate) return {};
  return {code, bytes};
}

bool is_plain(uint32_t code) {
  if (code < 0x20 || (code >= 0x7F && code <= 0x9F)) return false;
  const bool breaks_lines = code == 0x2028 || code == 0x2029;
  const bool turns_direction = code == 0x061C || code == 0x200E || code == 0x200F ||
                               (code >= 0x202A && code <= 0x202E) ||
                               (code >= 0x2066 && code <= 0x2069);
  return !breaks_lines && !turns_direction;
}

std::string escaped(std::string_view text, bool keep_lines) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const Character c = first_character(text);
    const size_t bytes = c.bytes == 0 ? 1 : c.bytes;
    if ((c.bytes != 0 && is_plain(c.code)) || (keep_lines && c.code == '\n')) {
      out += text.substr(0, bytes);
    } else {
      for (size_t i = 0; i < bytes; ++i) {
        char hex[8];
        std::snprintf(hex, sizeof(hex), "\\x%02x", byte_at(text, i));
        out += hex;
      }
    }
    text.remove_prefix(bytes);
  }
  return out;
}

}  // namespace

std::string printable(std::string_view text) { return escaped(text, false); }

std::string printable_lines(std::string_view text) { return escaped(text, true); }

std::string shortened(const char* text, size_t most) {
  const auto* end = static_cast<const char*>(std::memchr(text, '\0', most + 1));
  if (end != nullptr) return {text, end};
  size_t bytes = most;
  while (bytes > 0 && most - bytes < 3 && (text[bytes] & 0xC0) == 0x80) --bytes;
  return std::string(text, bytes) + "...";
}

std::string shown(const char* text) { return printable(shortened(text)); }

}  // namespace lazyrt::run
