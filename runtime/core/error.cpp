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

}  // namespace

Status::Status(Error error, const char* format, ...) : error_(error) {
  va_list args;
  va_start(args, format);
  vsnprintf(message_, sizeof(message_), format, args);
  va_end(args);
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
  return out;
}

}  // namespace lazyrt
