#pragma once

#include <type_traits>

#include "lazyrt/error.h"

namespace lazyrt {

/// What functions within the runtime return instead of a Status: one word, in a register. It is ok,
/// or an error whose Status the thread keeps until its next error. So a Fault is only for
/// returning: if it is read after later errors, it still has its kind, but no text any more (and
/// never another one's). An error that has to be kept becomes a Status, as all errors do that leave
/// the public API.
class [[nodiscard]] Fault {
 public:
  Fault() = default;
  /// Makes it the thread's last.
  Fault(const Status& status);  // NOLINT(google-explicit-constructor)
#if !LAZYRT_MESSAGES
  template <size_t N, class... Args>
  __attribute__((always_inline)) Fault(Error error, const char (&format)[N], const Args&... args)
      : word_(made(make_of(literal_id(format), error, args...))) {}
  explicit Fault(Error error, Word text) : word_(made(make(text.id(), error))) {}
#elif defined(__clang__)
  template <class... Args>
  __attribute__((always_inline)) Fault(Error error, const char* format, Args... args)
      : word_(make(error, format, args...)) {}
#else
  __attribute__((always_inline, format(printf, 3, 4))) Fault(Error error, const char* format, ...)
      : word_(make(error, format, __builtin_va_arg_pack())) {}
#endif

  operator Status() const;  // NOLINT(google-explicit-constructor)

  bool ok() const { return word_ == 0; }
  Error error() const { return static_cast<Error>(word_ & 0xff); }
  /// Status::message() until this thread makes another Fault; then it is empty.
  const char* message() const;
  /// As Status::with_context, for both forms of words: ok stays ok.
#if !LAZYRT_MESSAGES
  template <size_t N, class... Args>
  __attribute__((always_inline)) Fault with_context(const char (&format)[N],
                                                    const Args&... args) const {
    if constexpr (sizeof...(Args) <= 2) {
      return of(add(word_, literal_id(format), Numbers::kept(args)...));
    } else {
      const int64_t numbers[] = {Numbers::kept(args)...};
      return of(add(word_, literal_id(format), numbers, sizeof...(Args)));
    }
  }
#else
  Fault with_context(const char* format, ...) const __attribute__((format(printf, 2, 3)));
#endif
  /// Makes an error at a node of a method: `text` says which node, `op` and `module_path` what and
  /// where it is.
  Fault at_node(size_t node, const char* text, const char* op, const char* module_path) const;
  /// The same message as an error of another kind. REQUIRES: !ok().
  Fault as(Error error) const {
    return of((word_ & ~uint32_t{0xff}) | static_cast<uint32_t>(error));
  }

 private:
  friend class FirstFault;
  struct Kept;
  static Kept& kept();
  /// Returns the thread's record if it still belongs to this Fault.
  Kept* find() const;
  static Fault of(uint32_t word) {
    Fault fault;
    fault.word_ = word;
    return fault;
  }
  /// The thread's record, for a new error.
  static Kept& begin(Error error);
#if !LAZYRT_MESSAGES
  /// Most texts have few numbers, and most errors are damaged bundles: such errors are made by
  /// calls with few arguments, all in registers.
  static constexpr size_t kFew = sizeof(void*) == 8 ? 2 : 1;
  template <class... Args>
  __attribute__((always_inline)) static uint32_t make_of(uint32_t id, Error error,
                                                         const Args&... args) {
    if constexpr (sizeof...(Args) <= kFew) {
      if (__builtin_constant_p(error) && error == Error::kInvalidBundle)
        return make_bad(id, Numbers::kept(args)...);
      return make(id, error, Numbers::kept(args)...);
    } else {
      return Numbers::give(
          [&](auto... numbers) __attribute__((always_inline)) {
            return make_many(id, static_cast<uint32_t>(error) | Numbers::layout_of<Args...>() << 8,
                             numbers...);
          },
          args...);
    }
  }
  static uint32_t make(uint32_t id, Error error, const int64_t* numbers, size_t count);
  static uint32_t make(uint32_t id, Error error);
  static uint32_t make(uint32_t id, Error error, int64_t a);
  static uint32_t make(uint32_t id, Error error, int64_t a, int64_t b);
  static uint32_t make_bad(uint32_t id);
  static uint32_t make_bad(uint32_t id, int64_t a);
  static uint32_t make_bad(uint32_t id, int64_t a, int64_t b);
  static uint32_t make_many(uint32_t id, uint32_t error_and_layout, ...);
  /// Tells the compiler that a word of make() is an error, so that no code checks whether it is ok.
  static uint32_t made(uint32_t word) {
    if (word == 0) __builtin_unreachable();
    return word;
  }
  static uint32_t add(uint32_t word, uint32_t id);
  static uint32_t add(uint32_t word, uint32_t id, int64_t a);
  static uint32_t add(uint32_t word, uint32_t id, int64_t a, int64_t b);
  static uint32_t add(uint32_t word, uint32_t id, const int64_t* numbers, size_t count);
#else
  static uint32_t make(Error error, const char* format, ...)
// Clang has no __builtin_va_arg_pack, and does not take the template's text for a literal.
#ifndef __clang__
      __attribute__((format(printf, 2, 3)))
#endif
      ;
#endif

  uint32_t word_ = 0;  ///< the Error, and above it the number of the record
};
static_assert(std::is_trivially_copyable_v<Fault> && sizeof(Fault) == 4);

/// Keeps the first of several errors with its text, whatever fails after it.
class FirstFault {
 public:
  FirstFault() { record_.start(Error::kOk); }
  bool ok() const { return record_.error == Error::kOk; }
  /// Ignores a fault that is ok or not the first. REQUIRES: nothing has failed since `fault`.
  void add(Fault fault);
  /// Makes it the thread's last again.
  operator Fault() const;  // NOLINT(google-explicit-constructor)

 private:
  Status::Record record_;
};

}  // namespace lazyrt
