#pragma once

#include <string>
#include <unordered_map>
#include <unordered_set>

namespace lazyrt::run {

/// Names from a bundle as names of files that cannot leave their folder, no two the same.
class FileNames {
 public:
  /// "x.npy", "x_1.npy", ...
  std::string add(const std::string& name);
  /// How many names were looked at so far: in proportion to the calls of add.
  size_t tries() const { return tries_; }

 private:
  bool take(const std::string& name);

  std::unordered_set<std::string> taken_;
  std::unordered_map<std::string, int> next_;  ///< by name: the number to try next
  size_t tries_ = 0;
};

}  // namespace lazyrt::run
