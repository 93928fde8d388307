#pragma once

#include <string>
#include <vector>

namespace lazyrt::test {

struct Include {
  std::string target;  ///< as written between the quotes or brackets
  bool quoted = false;
  int line = 0;
};

/// A C++ file of the repository, without its tests.
struct SourceFile {
  std::string path;                ///< from the root of the repository
  std::vector<std::string> lines;  ///< without comments and string contents
  std::vector<Include> includes;
};

/// All .h, .hpp, .cpp, .cc and .inc files below these folders.
std::vector<SourceFile> source_files(const std::vector<std::string>& folders);

bool starts_with(const std::string& text, const std::string& prefix);
bool ends_with(const std::string& text, const std::string& suffix);

}  // namespace lazyrt::test
