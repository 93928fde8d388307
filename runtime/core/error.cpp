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

Status Status::at_node(size_t, const char* text) const { return with_context("%s", text); }

#else

namespace {

/// Appends digits of that base at `at`; `at` moves on, as far as there is room.
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

int64_t Status::bits_of(double value) {
  int64_t bits = 0;
  std::memcpy(&bits, &value, sizeof(bits));
  return bits;
}

void Status::start(Error error, uint32_t id, const int64_t* numbers, size_t count) {
  error_ = error;
  add(id, numbers, count);
}

void Status::add(uint32_t id, const int64_t* numbers, size_t count) {
  if (ok() || parts_ == kParts) return;
  ids_[parts_] = id;
  counts_[parts_] = 0;
  for (size_t i = 0; i < count && numbers_used_ < kNumbers; ++i) {
    numbers_[numbers_used_++] = numbers[i];
    ++counts_[parts_];
  }
  ++parts_;
}

Status Status::at_node(size_t node, const char*) const {
  Status out = *this;
  if (!ok()) out.node_ = static_cast<int32_t>(node);
  return out;
}

const char* Status::message() const {
  size_t at = 0;
  size_t number = 0;
  for (size_t part = 0; part < parts_; ++part) {
    if (part != 0) append_mark(message_, &at, '/');
    append_number(message_, &at, ids_[part], 16, 8);
    for (size_t i = 0; i < counts_[part]; ++i, ++number) {
      append_mark(message_, &at, ',');
      const bool negative = numbers_[number] < 0;
      if (negative) append_mark(message_, &at, '-');
      const auto bits = static_cast<uint64_t>(numbers_[number]);
      append_number(message_, &at, negative ? 0 - bits : bits, 10, 1);
    }
  }
  if (node_ >= 0) {
    append_mark(message_, &at, ':');
    append_number(message_, &at, static_cast<uint64_t>(node_), 10, 1);
  }
  message_[at] = '\0';
  return message_;
}

#endif

Status Status::as(Error error) const {
  Status out = *this;
  out.error_ = error;
  return out;
}

}  // namespace lazyrt
