// What device code never does: throw, print, abort, ask for RTTI, construct globals with code.

#include <gtest/gtest.h>

#include <regex>

#include "tests/structure/source_tree.h"

namespace lazyrt::test {
namespace {

struct Ban {
  const char* what;
  const char* pattern;
};

const Ban kBans[] = {
    {"an exception", R"(\b(throw|try|catch)\b\s*[\({;])"},
    {"RTTI", R"(\b(dynamic_cast|typeid)\b)"},
    {"abort", R"(\b(abort|exit|_exit|terminate)\s*\()"},
    {"assert", R"(\bassert\s*\()"},
    {"stdout", R"(\b(printf|puts|putchar)\s*\(|\bstd::(cout|cerr)\b|\bf(printf|puts)\s*\()"},
    {"a throwing allocation", R"(\bnew\s+(?!\()[A-Za-z_:<])"},
};

std::vector<SourceFile> device_files() {
  std::vector<SourceFile> files = source_files({"schema", "runtime", "kernels"});
  for (const SourceFile& file : source_files({"platforms"})) {
    const bool program = file.path.find("/lazy_run/") != std::string::npos ||
                         file.path.find("/conformance/") != std::string::npos;
    if (!program) files.push_back(file);
  }
  return files;
}

TEST(DeviceCode, NeverDoesWhatItMustNot) {
  const std::vector<SourceFile> files = device_files();
  for (const Ban& ban : kBans) {
    const std::regex pattern(ban.pattern, std::regex::optimize);
    for (const SourceFile& file : files) {
      for (size_t i = 0; i < file.lines.size(); ++i) {
        EXPECT_FALSE(std::regex_search(file.lines[i], pattern))
            << file.path << ":" << i + 1 << ": " << ban.what << ": " << file.lines[i];
      }
    }
  }
}

/// XNNPACK trusts its parameters; the wrapper checks them.
TEST(DeviceCode, CallsXnnpackOnlyThroughItsWrapper) {
  const std::regex pattern(R"(\bxnn_(create|reshape|setup|run|delete|initialize|define)\w*\s*\()");
  bool seen = false;
  for (const SourceFile& file : device_files()) {
    const bool wrapper = file.path == "runtime/backends/cpu/xnn_op.cpp";
    for (size_t i = 0; i < file.lines.size(); ++i) {
      if (!std::regex_search(file.lines[i], pattern)) continue;
      seen = true;
      EXPECT_TRUE(wrapper) << file.path << ":" << i + 1 << ": " << file.lines[i];
    }
  }
  EXPECT_TRUE(seen);
}

TEST(DeviceCode, IncludesNoStreams) {
  for (const SourceFile& file : device_files()) {
    for (const Include& include : file.includes) {
      for (const char* banned :
           {"iostream", "fstream", "sstream", "stdexcept", "exception", "cassert", "typeinfo"}) {
        EXPECT_NE(include.target, banned) << file.path << ":" << include.line;
      }
    }
  }
}

TEST(DeviceCode, FilesAreNotTooLong) {
  for (const SourceFile& file :
       source_files({"schema", "runtime", "kernels", "host_tracer", "platforms"})) {
    EXPECT_LE(file.lines.size(), 800u) << file.path;
  }
}

}  // namespace
}  // namespace lazyrt::test
