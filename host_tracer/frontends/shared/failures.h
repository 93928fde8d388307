#pragma once

// What a front end of files throws, as failures. Includes LibTorch.

#include <c10/util/Exception.h>

#include <exception>
#include <string>

#include "host_tracer/support/outcome.h"

namespace lazyrt {

/// Returns `capture()`, an Outcome. kInvalidArgument for a c10::ValueError: an input of the
/// caller's; kUnsupported for other c10::Errors: the program; kInternal, naming `path`, for the
/// rest.
template <class Capture>
auto failures_of_file(const std::string& path, const Capture& capture) -> decltype(capture()) {
  try {
    return capture();
  } catch (const c10::ValueError& e) {
    return Failure{Error::kInvalidArgument, e.what_without_backtrace()};
  } catch (const c10::Error& e) {
    return Failure{Error::kUnsupported, e.what_without_backtrace()};
  } catch (const std::exception& e) {
    return Failure{Error::kInternal, path + ": " + e.what()};
  }
}

}  // namespace lazyrt
