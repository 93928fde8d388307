#pragma once

// Where in the user's Python a node is made.

#include <pybind11/pybind11.h>

#include <string>
#include <unordered_map>
#include <vector>

#include "host_tracer/trace/trace.h"

namespace lazyrt {

/// Finds the innermost Python frame whose file is in none of the given folders, and the path of the
/// nn.Module that runs. Only the capturing thread uses it.
class PythonSources {
 public:
  /// `internal`: folders (with the trailing slash) whose frames are skipped: those of torch and
  /// LazyRT.
  explicit PythonSources(std::vector<std::string> internal) : internal_(std::move(internal)) {}
  /// REQUIRES: the GIL is held.
  ~PythonSources();
  PythonSources(const PythonSources&) = delete;
  PythonSources& operator=(const PythonSources&) = delete;

  /// Takes the GIL where the caller does not hold it.
  Source current();

  void enter_module(std::string path) { modules_.push_back(std::move(path)); }
  void leave_module() {
    if (!modules_.empty()) modules_.pop_back();
  }
  /// Removes the modules that an exception has left on the stack.
  void clear_modules() { modules_.clear(); }

 private:
  struct Place {
    bool user = false;
    std::string file;
  };
  const Place& place_of(PyCodeObject* code);

  std::vector<std::string> internal_;
  std::vector<std::string> modules_;
  std::unordered_map<PyCodeObject*, Place> places_;  ///< keeps the code objects alive
};

}  // namespace lazyrt
