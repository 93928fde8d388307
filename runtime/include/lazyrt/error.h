#pragma once

#include <cstdarg>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <type_traits>
#include <utility>

/// 0: built without texts (CMake: LAZYRT_MESSAGES=OFF). A Status then holds numbers that `lazy-run
/// --explain` makes the text of.
#ifndef LAZYRT_MESSAGES
#define LAZYRT_MESSAGES 1
#endif

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

/// Stable number of a text of the library: FNV-1a of its bytes, the letter l left out, since what
/// PRIu64 says differs between machines. `lazy-run --explain` finds the text.
constexpr uint32_t text_id(const char* text) {
  uint32_t id = 2166136261u;
  for (; *text != '\0'; ++text) {
    if (*text != 'l') id = (id ^ static_cast<unsigned char>(*text)) * 16777619u;
  }
  return id;
}

#if LAZYRT_MESSAGES

/// A word of a message that the library gives itself: an operator's or operand's name.
using Word = const char*;

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
  /// At a node of a method: `text` says which.
  Status at_node(size_t node, const char* text) const;
  /// The same message as an error of another kind.
  Status as(Error error) const;

 private:
  Error error_ = Error::kOk;
  char message_[kMessageBytes];
};

#else

/// The id of a text that is a literal; the text itself is then not part of the program. One
/// expression, so that compilers fold it at any level.
template <size_t N, size_t... I>
__attribute__((always_inline)) constexpr uint32_t literal_id(const char (&text)[N],
                                                             std::index_sequence<I...>) {
  uint32_t id = 2166136261u;
  ((id = text[I] == 'l' ? id : (id ^ static_cast<unsigned char>(text[I])) * 16777619u), ...);
  return id;
}
template <size_t N>
__attribute__((always_inline)) constexpr uint32_t literal_id(const char (&text)[N]) {
  return literal_id(text, std::make_index_sequence<N - 1>());
}

/// The id of a literal; 0: a text of the caller's or the bundle's, which is left out.
class Word {
 public:
  template <size_t N>
  __attribute__((always_inline)) constexpr Word(const char (&text)[N]) : id_(literal_id(text)) {}
  template <class T, class = std::enable_if_t<std::is_same_v<T, const char*>>>
  __attribute__((always_inline)) constexpr Word(const T&) : id_(0) {}
  constexpr uint32_t id() const { return id_; }

 private:
  uint32_t id_;
};

/// An error kind, the ids of its texts and their numbers.
class [[nodiscard]] Status {
 public:
  static constexpr int kMessageBytes = 120;
  static constexpr int kParts = 3;    ///< the text and two contexts; what is further out is dropped
  static constexpr int kNumbers = 6;  ///< of all of them

  Status() = default;
  template <size_t N, class... Args>
  __attribute__((always_inline)) Status(Error error, const char (&format)[N], const Args&... args) {
    const int64_t numbers[] = {0, number_of(args)...};
    start(error, literal_id(format), numbers + 1, sizeof...(Args));
  }
  explicit Status(Error error, Word text) { start(error, text.id(), nullptr, 0); }

  bool ok() const { return error_ == Error::kOk; }
  Error error() const { return error_; }
  /// For `lazy-run --explain`: "1a2b3c4d,7,-1:12", the text's id, its numbers, and after a colon
  /// the node; contexts follow after slashes. Empty when ok.
  const char* message() const;
  template <size_t N, class... Args>
  __attribute__((always_inline)) Status with_context(const char (&format)[N],
                                                     const Args&... args) const {
    const int64_t numbers[] = {0, number_of(args)...};
    Status out = *this;
    out.add(literal_id(format), numbers + 1, sizeof...(Args));
    return out;
  }
  Status at_node(size_t node, const char* text) const;
  Status as(Error error) const;

 private:
  template <class T>
  __attribute__((always_inline)) static int64_t number_of(const T& value) {
    if constexpr (std::is_same_v<T, Word>)
      return value.id();
    else if constexpr (std::is_floating_point_v<T>)
      return bits_of(static_cast<double>(value));
    else if constexpr (std::is_integral_v<T> || std::is_enum_v<T>)
      return static_cast<int64_t>(value);
    else
      return 0;
  }
  static int64_t bits_of(double value);
  void start(Error error, uint32_t id, const int64_t* numbers, size_t count);
  void add(uint32_t id, const int64_t* numbers, size_t count);

  Error error_ = Error::kOk;
  uint8_t parts_ = 0;
  uint8_t numbers_used_ = 0;
  uint8_t counts_[kParts];
  int32_t node_ = -1;
  uint32_t ids_[kParts];
  int64_t numbers_[kNumbers];
  mutable char message_[kMessageBytes];
};

#endif

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
