#pragma once

// Where in the user's Python a node is made.

#include <pybind11/pybind11.h>

#include <string>
#include <unordered_map>
#include <vector>

#include "host_tracer/capture/trace.h"

namespace lazyrt {

/// Finds the innermost Python frame whose file is in none of the given folders, and the path of the
/// nn.Module that runs. Used by the one thread that captures.
class PythonSources {
 public:
  /// `internal`: folders (with the closing slash) whose frames are passed over: torch's and ours.
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
  /// Forgets what an exception left behind.
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
