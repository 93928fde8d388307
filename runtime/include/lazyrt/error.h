#pragma once

#include <cstdarg>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <type_traits>
#include <utility>

/// 0: built without message texts (CMake: LAZYRT_MESSAGES=OFF). A Status then holds numbers, from
/// which `lazy-run --explain` makes the text.
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
/// Returns a sentence that says what to do about errors of this kind; empty if there is nothing to
/// do, and in builds without texts.
const char* error_hint(Error error);

/// Stable number of a text of the library: the FNV-1a hash of its bytes without the letter l,
/// because PRIu64 expands to other letters on other machines. `lazy-run --explain` finds the text.
constexpr uint32_t text_id(const char* text) {
  uint32_t id = 2166136261u;
  for (; *text != '\0'; ++text) {
    if (*text != 'l') id = (id ^ static_cast<unsigned char>(*text)) * 16777619u;
  }
  return id;
}

class Fault;

#if LAZYRT_MESSAGES

/// A word of a message that the library gives itself: an operator's or operand's name.
using Word = const char*;

/// An error kind and a message that names the culprit. Holds its texts inline: it never allocates,
/// and later errors, in whichever thread, do not change it.
class [[nodiscard]] Status {
 public:
  static constexpr int kMessageBytes = 248;

  Status() { record_.start(Error::kOk); }
  Status(Error error, const char* format, ...) __attribute__((format(printf, 3, 4)));

  bool ok() const { return record_.error == Error::kOk; }
  Error error() const { return record_.error; }
  /// The text, cut to kMessageBytes; empty when ok.
  const char* message() const { return record_.message; }
  /// Returns error_hint(error()). What to do about this very error is in its message.
  const char* hint() const { return error_hint(error()); }
  /// The node of the method that the error is about, or -1.
  int64_t node() const { return int64_t{record_.node_end} - 1; }
  /// The operator of that node, and the module of the model that it comes from ("encoder.conv1");
  /// shortened if they are long, empty if they are not known.
  const char* op() const { return record_.op; }
  const char* module_path() const { return record_.module_path; }
  /// The same error with "context: " before the text; ok stays ok.
  Status with_context(const char* format, ...) const __attribute__((format(printf, 2, 3)));
  /// The same message as an error of another kind.
  Status as(Error error) const;

 private:
  friend class Fault;
  friend class FirstFault;
  struct Record {
    Error error;
    uint32_t node_end;  ///< 0: of no node
    char op[24];
    char module_path[80];
    char message[kMessageBytes];

    void start(Error kind) {
      error = kind;
      node_end = 0;
      op[0] = module_path[0] = message[0] = '\0';
    }
    void format(const char* text, va_list args);
    void add_context(const char* text, va_list args);
  };

  Record record_;
};

#else

/// Returns the id of a literal text; the text itself is then not part of the program. A single
/// expression, so that compilers fold it at any optimization level.
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

/// How the numbers of a message are passed. A message stores each of them in 64 bits, and 0 for a
/// text. A few numbers are passed in this form; many are passed with their own types, together with
/// a word that holds their count and two bits for the type of each.
struct Numbers {
  enum Kind : uint32_t { kInt32 = 0, kUint32 = 1, kInt64 = 2, kText = 3 };

  template <class T>
  static constexpr Kind kind_of() {
    if constexpr (std::is_same_v<T, Word>)
      return kUint32;
    else if constexpr (std::is_floating_point_v<T>)
      return kInt64;
    else if constexpr (std::is_enum_v<T>)
      return kind_of<std::underlying_type_t<T>>();
    else if constexpr (!std::is_integral_v<T>)
      return kText;
    else if constexpr (sizeof(T) < 4)
      return kInt32;
    else
      return sizeof(T) > 4 ? kInt64 : std::is_signed_v<T> ? kInt32 : kUint32;
  }
  template <class... T>
  static constexpr uint32_t layout_of() {
    static_assert(sizeof...(T) <= 10, "a message has at most 10 numbers");
    uint32_t layout = 0, at = 4;
    ((layout |= kind_of<T>() << at, at += 2), ...);
    return layout | sizeof...(T);
  }
  template <class T>
  __attribute__((always_inline)) static auto pass(const T& value) {
    if constexpr (std::is_same_v<T, Word>)
      return value.id();
    else if constexpr (std::is_floating_point_v<T>)
      return bits_of(static_cast<double>(value));
    else if constexpr (std::is_enum_v<T>)
      return pass(static_cast<std::underlying_type_t<T>>(value));
    else if constexpr (kind_of<T>() == kInt64)
      return static_cast<int64_t>(value);
    else if constexpr (kind_of<T>() == kUint32)
      return static_cast<uint32_t>(value);
    else
      return static_cast<int32_t>(value);
  }
  /// As a message keeps it: 0 for a text.
  template <class T>
  __attribute__((always_inline)) static int64_t kept(const T& value) {
    if constexpr (kind_of<T>() == kText)
      return 0;
    else
      return static_cast<int64_t>(pass(value));
  }
  /// Calls to(numbers...) with the numbers that are passed, in their order.
  template <class To>
  __attribute__((always_inline)) static auto give(const To& to) {
    return to();
  }
  template <class To, class T, class... Rest>
  __attribute__((always_inline)) static auto give(const To& to, const T& first,
                                                  const Rest&... rest) {
    if constexpr (kind_of<T>() == kText)
      return give(to, rest...);
    else
      return give(
          [&](auto... more) __attribute__((always_inline)) { return to(pass(first), more...); },
          rest...);
  }
  static int64_t bits_of(double value);
};

/// An error kind, the ids of its texts and their numbers.
class [[nodiscard]] Status {
 public:
  static constexpr int kMessageBytes = 120;
  static constexpr int kParts = 3;    ///< the text and two contexts; further contexts are dropped
  static constexpr int kNumbers = 6;  ///< of all of them

  Status() = default;
  template <size_t N, class... Args>
  __attribute__((always_inline)) Status(Error error, const char (&format)[N], const Args&... args) {
    const int64_t numbers[] = {Numbers::kept(args)..., 0};
    record_.start(error, literal_id(format), numbers, sizeof...(Args));
  }
  explicit Status(Error error, Word text) { record_.start(error, text.id(), nullptr, 0); }

  bool ok() const { return record_.error == Error::kOk; }
  Error error() const { return record_.error; }
  /// For `lazy-run --explain`: "1a2b3c4d,7,-1:12" is the id of the text, its numbers and, after a
  /// colon, the node; contexts follow after slashes. Empty when ok.
  const char* message() const { return record_.write(message_); }
  /// Returns error_hint(error()). What to do about this very error is in its message.
  const char* hint() const { return error_hint(error()); }
  /// The node of the method that the error is about, or -1.
  int64_t node() const { return int64_t{record_.node_end} - 1; }
  /// Names are left out: always empty.
  const char* op() const { return ""; }
  const char* module_path() const { return ""; }
  template <size_t N, class... Args>
  __attribute__((always_inline)) Status with_context(const char (&format)[N],
                                                     const Args&... args) const {
    Status out = *this;
    const int64_t numbers[] = {Numbers::kept(args)..., 0};
    out.record_.add(literal_id(format), numbers, sizeof...(Args));
    return out;
  }
  Status as(Error error) const;

 private:
  friend class Fault;
  friend class FirstFault;
  struct Record {
    Error error = Error::kOk;
    uint8_t parts = 0;
    uint8_t numbers_used = 0;
    uint8_t counts[kParts] = {};
    uint32_t node_end = 0;  ///< 0: of no node
    uint32_t ids[kParts] = {};
    int64_t numbers[kNumbers] = {};

    void start(Error kind) { error = kind; }
    void start(Error kind, uint32_t id, const int64_t* with, size_t count);
    /// Adds a text with its numbers, as far as there is room; ok stays ok.
    void add(uint32_t id, const int64_t* with, size_t count);
    const char* write(char (&message)[kMessageBytes]) const;
  };
  Record record_;
  mutable char message_[kMessageBytes] = {};
};

#endif

/// A value or the Status that says why there is none.
template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value) : value_(std::move(value)) {}
  Result(Status status) : status_(status) {}
  template <class F, class = std::enable_if_t<std::is_same_v<F, Fault>>>
  Result(F fault) : status_(fault) {}

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

/// Returns from the enclosing function if `expr` (a Status, or within the runtime a Fault) is an
/// error.
#define LAZYRT_RETURN_IF_ERROR(expr)               \
  do {                                             \
    const auto& lazyrt_status = (expr);            \
    if (!lazyrt_status.ok()) return lazyrt_status; \
  } while (false)
