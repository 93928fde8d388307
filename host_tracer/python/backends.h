#pragma once

// Backends by the names that are used in Python.

#include <algorithm>
#include <iterator>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "host_tracer/python/errors.h"
#include "lazyrt/backend_choice.h"

namespace lazyrt {

/// Returns the backend of a name: "cpu", "reference", "vulkan", "auto", or "vulkan:2" for the third
/// Vulkan device. Throws PythonError for any other. A device stays open until the process ends,
/// since programs may live as long.
inline const Backend* named_backend(const std::string& text) {
  static std::mutex mutex;
  static auto* choices = new std::map<int, std::unique_ptr<BackendChoice>>;
  const std::string name = text.substr(0, text.find(':'));
  int device = -1;
  if (name.size() != text.size()) {
    size_t read = 0;
    try {
      device = std::stoi(text.substr(name.size() + 1), &read);
    } catch (const std::exception&) {
      device = -1;
    }
    if (device < 0 || name.size() + 1 + read != text.size() || (name != "vulkan" && name != "auto"))
      throw PythonError(Error::kInvalidArgument,
                        "no backend '" + text + "': a device is named as in vulkan:0");
  }
  const auto& names = BackendChoice::kNames;
  if (std::find(std::begin(names), std::end(names), name) == std::end(names)) {
    std::string known;
    for (const char* each : names) known += (known.empty() ? "" : ", ") + std::string(each);
    throw PythonError(Error::kInvalidArgument, "no backend '" + text + "'; there are " + known);
  }
  const std::lock_guard<std::mutex> lock(mutex);
  std::unique_ptr<BackendChoice>& choice = (*choices)[device];
  if (!choice) choice = std::make_unique<BackendChoice>();
  const Result<const Backend*> found = choice->find(name.c_str(), device);
  if (found.ok()) return *found;
  throw PythonError(found.status().error(), "backend '" + text + "': " + found.status().message());
}

}  // namespace lazyrt
