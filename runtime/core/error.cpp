#include "lazyrt/error.h"

#include <algorithm>
#include <cstdio>

namespace lazyrt {

const char* error_name(Error error) {
  static constexpr const char* kNames[] = {"ok",
                                           "invalid argument",
                                           "invalid bundle",
                                           "version",
                                           "unsupported",
                                           "not found",
                                           "out of range",
                                           "out of memory",
                                           "input/output",
                                           "busy",
                                           "failed precondition",
                                           "internal",
                                           "guard failed",
                                           "cancelled",
                                           "deadline exceeded",
                                           "limit exceeded"};
  const auto i = static_cast<unsigned>(error);
  return i < sizeof(kNames) / sizeof(kNames[0]) ? kNames[i] : "?";
}

namespace {

/// Appends `text` at `at`, cut to the buffer; returns the new end.
int append(char* buffer, int at, const char* text) {
  while (*text != '\0' && at < Status::kMessageBytes - 1) buffer[at++] = *text++;
  buffer[at] = '\0';
  return at;
}

/// Bytes of the character at `s`, 0 where none is well-formed UTF-8 (Unicode 15, table 3-7).
/// REQUIRES: a NUL ends the text.
int character_bytes(const unsigned char* s) {
  if (s[0] < 0x80) return 1;
  if (s[0] < 0xc2 || s[0] > 0xf4) return 0;
  const unsigned char least = s[0] == 0xe0 ? 0xa0 : s[0] == 0xf0 ? 0x90 : 0x80;
  const unsigned char most = s[0] == 0xed ? 0x9f : s[0] == 0xf4 ? 0x8f : 0xbf;
  if (s[1] < least || s[1] > most) return 0;
  const int bytes = s[0] < 0xe0 ? 2 : s[0] < 0xf0 ? 3 : 4;
  for (int i = 2; i < bytes; ++i) {
    if ((s[i] & 0xc0) != 0x80) return 0;
  }
  return bytes;
}

/// Names come from the file, and texts are cut at a byte: what is no whole character becomes '?'.
void mend_characters(char* text) {
  auto* s = reinterpret_cast<unsigned char*>(text);
  while (*s != '\0') {
    const int bytes = character_bytes(s);
    if (bytes == 0) *s = '?';
    s += bytes == 0 ? 1 : bytes;
  }
}

}  // namespace

Status::Status(Error error, const char* format, ...) : error_(error) {
  va_list args;
  va_start(args, format);
  vsnprintf(message_, sizeof(message_), format, args);
  va_end(args);
  mend_characters(message_);
}

Status Status::with_context(const char* format, ...) const {
  if (ok()) return *this;
  Status out;
  out.error_ = error_;
  va_list args;
  va_start(args, format);
  const int n = vsnprintf(out.message_, sizeof(out.message_), format, args);
  va_end(args);
  const int end = append(out.message_, n < 0 ? 0 : std::min(n, kMessageBytes - 1), ": ");
  append(out.message_, end, message_);
  mend_characters(out.message_);
  return out;
}

}  // namespace lazyrt
