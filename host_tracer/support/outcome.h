#pragma once

#include <string>
#include <utility>
#include <variant>

#include "lazyrt/error.h"

namespace lazyrt {

/// What callers decide by, beside the error. Texts are for people only.
enum class FailureKind {
  kOther,
  kBroken,          ///< values of the sample are baked into a trace
  kMismatch,        ///< the bundle does not give what the program gives
  kDiffersAtSizes,  ///< the program computes something else at other sizes
};

/// Why a step of the exporter failed. Unlike Status the text has any length and may be many lines.
struct Failure {
  Error error = Error::kInternal;
  std::string text;
  FailureKind kind = FailureKind::kOther;
};

/// Host-side result: a T or a Failure. Use Outcome<Done> where there is nothing to return.
template <class T>
class [[nodiscard]] Outcome {
 public:
  Outcome(T value) : state_(std::move(value)) {}
  Outcome(Failure failure) : state_(std::move(failure)) {}
  /// REQUIRES: !status.ok().
  Outcome(const Status& status) : state_(Failure{status.error(), status.message()}) {}

  bool ok() const { return std::holds_alternative<T>(state_); }
  /// REQUIRES: ok().
  T& operator*() { return std::get<T>(state_); }
  const T& operator*() const { return std::get<T>(state_); }
  T* operator->() { return &std::get<T>(state_); }
  const T* operator->() const { return &std::get<T>(state_); }
  /// REQUIRES: !ok().
  const Failure& failure() const { return std::get<Failure>(state_); }

 private:
  std::variant<T, Failure> state_;
};

struct Done {};

}  // namespace lazyrt

/// Returns the Failure of `outcome_expr` from the enclosing function, if it is one.
#define LAZYRT_TRY(outcome_expr)                               \
  do {                                                         \
    auto&& lazyrt_outcome = (outcome_expr);                    \
    if (!lazyrt_outcome.ok()) return lazyrt_outcome.failure(); \
  } while (false)
