#pragma once

#include <cstdarg>
#include <cstdint>
#include <optional>
#include <utility>

namespace lazyrt {

/// What kind of thing went wrong. The numbers are stable: they cross the C API.
enum class Error : uint8_t {
  kOk = 0,
  kInvalidArgument = 1,      ///< the caller's shape, dtype, name, option
  kInvalidBundle = 2,        ///< the bytes break the format or its rules
  kVersion = 3,              ///< a bundle of a newer major version
  kUnsupported = 4,          ///< valid, but not built into this runtime
  kNotFound = 5,             ///< no such method, input, output, file
  kOutOfRange = 6,           ///< an index tensor holds a value outside its range
  kOutOfMemory = 7,          ///< allocation failed or a limit was exceeded
  kIo = 8,                   ///< the system refused a file operation
  kBusy = 9,                 ///< the session is in use by another thread
  kFailedPrecondition = 10,  ///< called in the wrong state
  kInternal = 11,            ///< a bug of ours or of a library below
  kGuardFailed = 12,         ///< these inputs take a path of the model that the bundle lacks
  kCancelled = 13,           ///< Session::cancel ended the run
  kDeadlineExceeded = 14,    ///< the run took longer than SessionOptions allow
  kLimitExceeded = 15,       ///< the bundle asks for more work than LoadOptions allow
};

/// "invalid argument", "out of range", ...
const char* error_name(Error error);

/// An error kind and a message that names the culprit. Holds its text inline; never allocates.
class [[nodiscard]] Status {
 public:
  static constexpr int kMessageBytes = 248;

  Status() { message_[0] = '\0'; }
  Status(Error error, const char* format, ...) __attribute__((format(printf, 3, 4)));

  bool ok() const { return error_ == Error::kOk; }
  Error error() const { return error_; }
  /// The text, cut to kMessageBytes; empty when ok.
  const char* message() const { return message_; }
  /// The same error with "context: " before the text; ok stays ok.
  Status with_context(const char* format, ...) const __attribute__((format(printf, 2, 3)));

 private:
  Error error_ = Error::kOk;
  char message_[kMessageBytes];
};

/// A value or the Status that says why there is none.
template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value) : value_(std::move(value)) {}
  Result(Status status) : status_(status) {}

  bool ok() const { return value_.has_value(); }
  const Status& status() const { return status_; }
  /// REQUIRES: ok().
  T& operator*() { return *value_; }
  const T& operator*() const { return *value_; }
  T* operator->() { return &*value_; }
  const T* operator->() const { return &*value_; }

 private:
  Status status_;
  std::optional<T> value_;
};

}  // namespace lazyrt

/// Returns from the enclosing function if `expr` (a Status) is an error.
#define LAZYRT_RETURN_IF_ERROR(expr)               \
  do {                                             \
    ::lazyrt::Status lazyrt_status = (expr);       \
    if (!lazyrt_status.ok()) return lazyrt_status; \
  } while (false)
