#include "lazyrt/error.h"

#include <algorithm>
#include <cstdio>
#include <cstring>

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

#if LAZYRT_MESSAGES

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

/// Names come from the file, and texts are cut at any byte: what is not a whole character becomes
/// '?'.
void mend_characters(char* text) {
  auto* s = reinterpret_cast<unsigned char*>(text);
  while (*s != '\0') {
    const int bytes = character_bytes(s);
    if (bytes == 0) *s = '?';
    s += bytes == 0 ? 1 : bytes;
  }
}

}  // namespace

/// The texts in `args` may belong to this record.
void Status::Record::format(const char* text, va_list args) {
  char made[kMessageBytes];
  vsnprintf(made, sizeof(made), text, args);
  mend_characters(made);
  std::memcpy(message, made, sizeof(made));
}

void Status::Record::add_context(const char* text, va_list args) {
  char made[kMessageBytes];
  const int n = vsnprintf(made, sizeof(made), text, args);
  const int end = append(made, n < 0 ? 0 : std::min(n, kMessageBytes - 1), ": ");
  append(made, end, message);
  mend_characters(made);
  std::memcpy(message, made, sizeof(made));
}

Status::Status(Error error, const char* format, ...) {
  record_.start(error);
  va_list args;
  va_start(args, format);
  record_.format(format, args);
  va_end(args);
}

Status Status::with_context(const char* format, ...) const {
  Status out = *this;
  if (ok()) return out;
  va_list args;
  va_start(args, format);
  out.record_.add_context(format, args);
  va_end(args);
  return out;
}

#else

namespace {

/// Appends digits of that base at *at, as far as there is room, and moves *at behind them.
void append_number(char* buffer, size_t* at, uint64_t value, uint64_t base, size_t least) {
  char digits[24];
  size_t n = 0;
  for (; value != 0 || n < least; value /= base) digits[n++] = "0123456789abcdef"[value % base];
  while (n > 0 && *at < Status::kMessageBytes - 1) buffer[(*at)++] = digits[--n];
}
void append_mark(char* buffer, size_t* at, char mark) {
  if (*at < Status::kMessageBytes - 1) buffer[(*at)++] = mark;
}

}  // namespace

int64_t Numbers::bits_of(double value) {
  int64_t bits = 0;
  std::memcpy(&bits, &value, sizeof(bits));
  return bits;
}

void Status::Record::start(Error kind, uint32_t id, const int64_t* with, size_t count) {
  *this = Record();
  error = kind;
  add(id, with, count);
}

void Status::Record::add(uint32_t id, const int64_t* with, size_t count) {
  if (error == Error::kOk || parts == kParts) return;
  ids[parts] = id;
  counts[parts] = static_cast<uint8_t>(std::min<size_t>(count, size_t{kNumbers} - numbers_used));
  for (size_t i = 0; i < counts[parts]; ++i) numbers[numbers_used++] = with[i];
  ++parts;
}

const char* Status::Record::write(char (&message)[kMessageBytes]) const {
  size_t at = 0;
  size_t number = 0;
  for (size_t part = 0; part < parts; ++part) {
    if (part != 0) append_mark(message, &at, '/');
    append_number(message, &at, ids[part], 16, 8);
    for (size_t i = 0; i < counts[part]; ++i, ++number) {
      append_mark(message, &at, ',');
      const bool negative = numbers[number] < 0;
      if (negative) append_mark(message, &at, '-');
      const auto bits = static_cast<uint64_t>(numbers[number]);
      append_number(message, &at, negative ? 0 - bits : bits, 10, 1);
    }
  }
  if (node_end != 0) {
    append_mark(message, &at, ':');
    append_number(message, &at, node_end - 1, 10, 1);
  }
  message[at] = '\0';
  return message;
}

#endif

Status Status::as(Error error) const {
  Status out = *this;
  out.record_.error = error;
  return out;
}

}  // namespace lazyrt
