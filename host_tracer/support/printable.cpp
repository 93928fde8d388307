#include "host_tracer/support/printable.h"

#include <cstdint>
#include <cstdio>

#include "host_tracer/support/text_limit.h"

namespace lazyrt {
namespace {

/// A character of UTF-8, or a byte that is none.
struct Character {
  uint32_t code = 0;
  size_t bytes = 1;
  bool valid = false;
};

Character first_of(std::string_view text) {
  static constexpr uint32_t kLeast[] = {0, 0, 0x80, 0x800, 0x10000};  // by length
  const auto lead = static_cast<unsigned char>(text[0]);
  if (lead < 0x80) return {lead, 1, true};
  const size_t bytes = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
  if (lead < 0xc0 || lead >= 0xf8 || text.size() < bytes) return {lead, 1, false};
  uint32_t code = lead & (0x7fu >> bytes);
  for (size_t i = 1; i < bytes; ++i) {
    if (!is_inside_character(text[i])) return {lead, 1, false};
    code = code << 6 | (static_cast<unsigned char>(text[i]) & 0x3fu);
  }
  const bool is_surrogate = code >= 0xd800 && code <= 0xdfff;
  if (code < kLeast[bytes] || code > 0x10ffff || is_surrogate) return {lead, 1, false};
  return {code, bytes, true};
}

/// Whether a terminal acts on the character instead of showing it, or shows text in another order
/// because of it.
bool is_control(uint32_t code) {
  const bool turns = (code >= 0x202a && code <= 0x202e) || (code >= 0x2066 && code <= 0x2069) ||
                     code == 0x200e || code == 0x200f || code == 0x61c;
  return code < 0x20 || (code >= 0x7f && code < 0xa0) || code == 0x2028 || code == 0x2029 || turns;
}

void append_code(const char* format, uint32_t code, std::string* out) {
  char text[12];
  std::snprintf(text, sizeof text, format, static_cast<unsigned>(code));
  *out += text;
}

template <class Escape>
std::string escaped(std::string_view text, bool lines, const Escape& escape) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const Character c = first_of(text);
    const bool stays = c.valid && (!is_control(c.code) || (lines && c.code == '\n'));
    if (stays) {
      out += text.substr(0, c.bytes);
    } else {
      escape(c, &out);
    }
    text.remove_prefix(c.bytes);
  }
  return out;
}

void escape_for_people(const Character& c, std::string* out) {
  append_code(c.code < 0x100 ? "\\x%02x" : "\\u%04x", c.code, out);
}

}  // namespace

std::string printable(std::string_view text) { return escaped(text, false, escape_for_people); }

std::string printable_lines(std::string_view text) {
  return escaped(text, true, escape_for_people);
}

std::string printable_json(std::string_view json) {
  return escaped(json, true,
                 [](const Character& c, std::string* out) { append_code("\\u%04x", c.code, out); });
}

}  // namespace lazyrt
