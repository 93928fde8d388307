#pragma once

// Our errors as exceptions of lazyrt.errors.

#include <pybind11/pybind11.h>

#include <exception>
#include <string>
#include <utility>

#include "lazyrt/error.h"

namespace lazyrt {

/// Becomes the Python exception that lazyrt.errors.from_kind(kind, text) makes.
class PythonError : public std::exception {
 public:
  PythonError(Error error, std::string text) : error_(error), text_(std::move(text)) {}
  explicit PythonError(const Status& status) : PythonError(status.error(), status.message()) {}

  Error error() const { return error_; }
  const char* what() const noexcept override { return text_.c_str(); }

 private:
  Error error_;
  std::string text_;
};

inline void register_errors() {
  pybind11::register_local_exception_translator([](std::exception_ptr pointer) {
    try {
      if (pointer) std::rethrow_exception(pointer);
    } catch (const PythonError& e) {
      namespace py = pybind11;
      try {
        const py::object made =
            py::module_::import("lazyrt.errors").attr("from_kind")(error_name(e.error()), e.what());
        PyErr_SetObject(py::type::of(made).ptr(), made.ptr());
      } catch (py::error_already_set& failed) {
        failed.restore();
      }
    }
  });
}

}  // namespace lazyrt
