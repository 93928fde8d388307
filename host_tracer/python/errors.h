#pragma once

// Our errors as exceptions of lazyrt.errors.

#include <pybind11/pybind11.h>

#include <exception>
#include <string>
#include <utility>

#include "host_tracer/support/outcome.h"

namespace lazyrt {

/// Becomes the Python exception that lazyrt.errors.from_kind(kind, text, failure) makes.
class PythonError : public std::exception {
 public:
  explicit PythonError(Failure failure) : failure_(std::move(failure)) {}
  PythonError(Error error, std::string text)
      : PythonError(Failure{error, std::move(text), FailureKind::kOther}) {}
  explicit PythonError(const Status& status) : PythonError(status.error(), status.message()) {}

  const Failure& failure() const { return failure_; }
  const char* what() const noexcept override { return failure_.text.c_str(); }

 private:
  Failure failure_;
};

/// Error.failure of the Python exception.
inline const char* failure_name(FailureKind kind) {
  switch (kind) {
    case FailureKind::kOther:
      return "";
    case FailureKind::kBroken:
      return "broken";
    case FailureKind::kMismatch:
      return "mismatch";
    case FailureKind::kDiffersAtSizes:
      return "differs at sizes";
  }
  return "";
}

inline void register_errors() {
  pybind11::register_local_exception_translator([](std::exception_ptr pointer) {
    try {
      if (pointer) std::rethrow_exception(pointer);
    } catch (const PythonError& e) {
      namespace py = pybind11;
      try {
        const Failure& failure = e.failure();
        const py::object made = py::module_::import("lazyrt.errors")
                                    .attr("from_kind")(error_name(failure.error), failure.text,
                                                       failure_name(failure.kind));
        PyErr_SetObject(py::type::of(made).ptr(), made.ptr());
      } catch (py::error_already_set& failed) {
        failed.restore();
      }
    }
  });
}

}  // namespace lazyrt
