#include "lazyrt/error.h"

#include <cstdio>

namespace lazyrt {

const char* error_name(Error error) {
  static constexpr const char* kNames[] = {
      "ok",           "invalid argument", "invalid bundle", "version",
      "unsupported",  "not found",        "out of range",   "out of memory",
      "input/output", "busy",             "failed precondition", "internal"};
  const auto i = static_cast<unsigned>(error);
  return i < sizeof(kNames) / sizeof(kNames[0]) ? kNames[i] : "?";
}

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
  int n = vsnprintf(out.message_, sizeof(out.message_), format, args);
  va_end(args);
  if (n < 0) n = 0;
  if (n < kMessageBytes) {
    snprintf(out.message_ + n, sizeof(out.message_) - static_cast<size_t>(n), ": %s", message_);
  }
  return out;
}

}  // namespace lazyrt
