#include "tests/structure/source_tree.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <regex>

namespace lazyrt::test {
namespace {

namespace fs = std::filesystem;

/// Blanks out comments and the contents of strings, so that words in them do not count.
class Stripper {
 public:
  std::string strip(const std::string& line) {
    std::string out;
    char quote = '\0';
    for (size_t i = 0; i < line.size(); ++i) {
      const std::string two = line.substr(i, 2);
      if (in_comment_) {
        if (two == "*/") in_comment_ = false, ++i;
      } else if (quote != '\0') {
        if (line[i] == '\\') {
          ++i;
        } else if (line[i] == quote) {
          quote = '\0';
        }
      } else if (two == "//") {
        break;
      } else if (two == "/*") {
        in_comment_ = true, ++i;
      } else {
        if (line[i] == '"') quote = line[i];
        out += line[i];
      }
    }
    return out;
  }

 private:
  bool in_comment_ = false;
};

bool is_source(const fs::path& path) {
  const std::string name = path.filename().string();
  for (const char* ending : {"_test.cpp", "_cases.cpp"}) {
    if (ends_with(name, ending)) return false;
  }
  const std::string extension = path.extension().string();
  return extension == ".h" || extension == ".hpp" || extension == ".cpp" || extension == ".cc" ||
         extension == ".inc";
}

SourceFile read_source(const fs::path& path) {
  static const std::regex kInclude(R"(^\s*#\s*include\s*([<"])([^>"]+)[>"])");
  SourceFile file;
  file.path = fs::relative(path, LAZYRT_SOURCE_DIR).generic_string();
  std::ifstream in(path);
  Stripper stripper;
  int number = 0;
  for (std::string line; std::getline(in, line);) {
    ++number;
    std::smatch match;
    if (std::regex_search(line, match, kInclude)) {
      file.includes.push_back({match[2], match[1] == "\"", number});
    }
    file.lines.push_back(stripper.strip(line));
  }
  return file;
}

}  // namespace

std::vector<SourceFile> source_files(const std::vector<std::string>& folders) {
  std::vector<SourceFile> out;
  for (const std::string& folder : folders) {
    const fs::path root = fs::path(LAZYRT_SOURCE_DIR) / folder;
    if (!fs::exists(root)) continue;
    for (const auto& entry : fs::recursive_directory_iterator(root)) {
      if (entry.is_regular_file() && is_source(entry.path()))
        out.push_back(read_source(entry.path()));
    }
  }
  std::sort(out.begin(), out.end(), [](const auto& a, const auto& b) { return a.path < b.path; });
  return out;
}

bool starts_with(const std::string& text, const std::string& prefix) {
  return text.compare(0, prefix.size(), prefix) == 0;
}

bool ends_with(const std::string& text, const std::string& suffix) {
  return text.size() >= suffix.size() &&
         text.compare(text.size() - suffix.size(), suffix.size(), suffix) == 0;
}

}  // namespace lazyrt::test
