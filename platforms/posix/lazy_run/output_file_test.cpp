#include "platforms/posix/lazy_run/output_file.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "platforms/posix/lazy_run/failure.h"

namespace lazyrt::run {
namespace {

namespace fs = std::filesystem;

std::string read(const fs::path& path) {
  std::ostringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  return text.str();
}

class OutputFiles : public testing::Test {
 protected:
  void SetUp() override { fs::create_directories(folder_); }
  void TearDown() override { fs::remove_all(folder_); }

  std::string at(const std::string& name) const { return (folder_ / name).string(); }
  size_t count() const {
    size_t files = 0;
    for ([[maybe_unused]] const auto& entry : fs::directory_iterator(folder_)) ++files;
    return files;
  }

  const fs::path folder_ =
      fs::path(testing::TempDir()) / ("output_file_" + std::to_string(getpid()));
};

TEST_F(OutputFiles, AppearWholeOrNotAtAll) {
  std::ofstream(at("x")) << "old";
  {
    OutputFile file(at("x"));
    file.write("new", 3);
    EXPECT_EQ(read(at("x")), "old");
  }
  EXPECT_EQ(read(at("x")), "old");
  EXPECT_EQ(count(), 1u);
  OutputFile file(at("x"));
  file.write("new", 3);
  std::fprintf(file.stream(), " %d", 7);
  file.commit();
  EXPECT_EQ(read(at("x")), "new 7");
  EXPECT_EQ(count(), 1u);
}

/// Who may write to the folder puts a link where the unfinished file is expected, and whoever
/// writes a report there overwrites what the link names.
TEST_F(OutputFiles, NoPreparedLinkIsFollowed) {
  std::ofstream(at("victim")) << "precious";
  fs::create_symlink(at("victim"), at("x.partial"));
  OutputFile first(at("x"));
  for (const auto& entry : fs::directory_iterator(folder_)) {
    const bool begun = entry.path().filename().string().rfind("x.partial-", 0) == 0;
    if (begun) {
      EXPECT_FALSE(entry.is_symlink());
    }
  }
  OutputFile second(at("x"));  // two at a time do not share an unfinished file
  EXPECT_EQ(count(), 4u);
  first.write("first", 5);
  second.write("second", 6);
  first.commit();
  EXPECT_EQ(read(at("x")), "first");
  second.commit();
  EXPECT_EQ(read(at("x")), "second");
  EXPECT_EQ(read(at("victim")), "precious");
}

TEST_F(OutputFiles, LinksAreWrittenInPlace) {
  std::ofstream(at("file")) << "old";
  fs::create_symlink(at("file"), at("link"));
  OutputFile file(at("link"));
  file.write("new", 3);
  file.commit();
  EXPECT_TRUE(fs::is_symlink(at("link")));
  EXPECT_EQ(read(at("file")), "new");
}

TEST_F(OutputFiles, FailuresNameThePath) {
  try {
    OutputFile file(at("none/x"));
    FAIL();
  } catch (const Failure& failure) {
    EXPECT_EQ(failure.code(), ExitCode::kIo);
    EXPECT_NE(std::string(failure.what()).find("cannot create '" + at("none/x") + "'"),
              std::string::npos);
  }
}

}  // namespace
}  // namespace lazyrt::run
