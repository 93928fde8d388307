#include "platforms/posix/lazy_run/file_names.h"

#include <cctype>

namespace lazyrt::run {
namespace {

constexpr size_t kLongest = 100;

std::string made_safe(const std::string& name) {
  std::string safe;
  for (char c : name.substr(0, kLongest)) {
    const bool plain =
        std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '-' || c == '.';
    safe += plain ? c : '_';
  }
  return safe.empty() || safe[0] == '.' ? "_" + safe : safe;
}

}  // namespace

bool FileNames::take(const std::string& name) {
  ++tries_;
  return taken_.insert(name).second;
}

std::string FileNames::add(const std::string& name) {
  const std::string safe = made_safe(name);
  std::string unique = safe;
  // A number that was taken is not tried again: each taken name fails at most twice, once as itself
  // and once as another name with a number.
  for (int& i = next_.emplace(safe, 1).first->second; !take(unique); ++i) {
    unique = safe + "_" + std::to_string(i);
  }
  return unique + ".npy";
}

}  // namespace lazyrt::run
