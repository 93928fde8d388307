#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "host_tracer/support/partial_file.h"
#include "host_tracer/support/printable.h"
#include "host_tracer/support/text_limit.h"

namespace lazyrt {
namespace {

namespace fs = std::filesystem;

TEST(TextLimit, KeepsABeginningOrAnEnd) {
  EXPECT_EQ(shortened("abcdef", 6), "abcdef");
  EXPECT_EQ(shortened("abcdefg", 6), "abc...");
  EXPECT_EQ(shortened_to_end("abcdef", 6), "abcdef");
  EXPECT_EQ(shortened_to_end("abcdefg", 6), "...efg");
  EXPECT_EQ(shortened("abcdefg", 3), "...");
}

TEST(TextLimit, CutsNoCharacterOfUtf8) {
  const std::string text = "a\u20ac\u20ac\u20ac\u20ac";  // three bytes each
  for (size_t most = 3; most < text.size(); ++most) {
    for (const std::string& cut : {shortened(text, most), shortened_to_end(text, most)}) {
      EXPECT_LE(cut.size(), most);
      EXPECT_GT(cut.size() + 3, most) << "as long as it can be";
      EXPECT_EQ(printable(cut), cut) << "UTF-8";
    }
  }
  EXPECT_LE(shortened(std::string(100, '\x80'), 20).size(), 20u) << "text that is not UTF-8";
  EXPECT_LE(shortened_to_end(std::string(100, '\x80'), 20).size(), 20u);
}

TEST(Printable, EscapesWhatTerminalsActOn) {
  EXPECT_EQ(printable("y\x1b]0;owned\x07\x1b[31m"), "y\\x1b]0;owned\\x07\\x1b[31m");
  EXPECT_EQ(printable("a\nb\tc\x7f\r"), "a\\x0ab\\x09c\\x7f\\x0d");
  EXPECT_EQ(printable_lines("a\nb\rc"), "a\nb\\x0dc");
  EXPECT_EQ(printable("\xc2\x9b"
                      "31m"),
            "\\x9b31m")
      << "CSI as one character";
  EXPECT_EQ(printable("\x9b"
                      "31m"),
            "\\x9b31m")
      << "CSI as one byte";
  EXPECT_EQ(printable("a\u202egpj.exe"), "a\\u202egpj.exe");
  EXPECT_EQ(printable(std::string("a\0b", 3)), "a\\x00b");
}

TEST(Printable, KeepsWords) {
  const std::string words = "gr\u00f6\u00dfe \u20ac \u4e2d\u6587 \U0001f600 \\x";
  EXPECT_EQ(printable(words), words);
}

TEST(Printable, EscapesWhatIsNotUtf8) {
  EXPECT_EQ(printable("\xff\xc3"), "\\xff\\xc3");
  EXPECT_EQ(printable("\xc0\x8a"), "\\xc0\\x8a") << "too long a form of a newline";
  EXPECT_EQ(printable("\xed\xa0\x80"), "\\xed\\xa0\\x80") << "half of a pair";
  EXPECT_EQ(printable("\xf4\x90\x80\x80"), "\\xf4\\x90\\x80\\x80") << "beyond Unicode";
  EXPECT_EQ(printable("\xe2\x82"), "\\xe2\\x82") << "cut";
}

TEST(Printable, JsonStaysJson) {
  EXPECT_EQ(printable_json("{\n  \"\u00f6\": \"\x7f\xc2\x9b\u202e\"\n}"),
            "{\n  \"\u00f6\": \"\\u007f\\u009b\\u202e\"\n}");
}

class PartialFiles : public ::testing::Test {
 protected:
  void SetUp() override { fs::create_directories(folder_); }
  void TearDown() override { fs::remove_all(folder_); }
  std::string path(const char* name) const { return (folder_ / name).string(); }
  static std::string read(const std::string& path) {
    std::ifstream in(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  static void write(const std::string& path, const std::string& text) {
    std::ofstream(path) << text;
  }
  size_t count() const {
    return static_cast<size_t>(std::distance(fs::directory_iterator(folder_), {}));
  }

  const fs::path folder_ =
      fs::temp_directory_path() / ("lazyrt_support_" + std::to_string(getpid()));
};

TEST_F(PartialFiles, AppearUnderTheirNamesWhenTheyAreComplete) {
  ASSERT_TRUE(write_text_file(path("a"), "first").ok());
  ASSERT_TRUE(write_text_file(path("a"), "second").ok());
  EXPECT_EQ(read(path("a")), "second");
  EXPECT_EQ(count(), 1u);
}

TEST_F(PartialFiles, AreRemovedWhereTheyWereNotMoved) {
  {
    const PartialFile partial(path("a"));
    write(partial.path(), "half");
    EXPECT_EQ(count(), 1u);
  }
  EXPECT_EQ(count(), 0u);
}

TEST_F(PartialFiles, AreNotWrittenThroughALink) {
  write(path("precious"), "precious");
  const std::string partial = PartialFile::path_for(path("a"));
  for (const char* target : {"precious", "new"}) {
    fs::create_symlink(path(target), partial);
    EXPECT_TRUE(write_text_file(path("a"), "text").ok());
    EXPECT_EQ(read(path("precious")), "precious");
    EXPECT_FALSE(fs::exists(path("new")));
    EXPECT_EQ(read(path("a")), "text");
    EXPECT_FALSE(fs::is_symlink(path("a")));
  }
  fs::create_hard_link(path("precious"), partial);
  EXPECT_TRUE(write_text_file(path("a"), "more").ok());
  EXPECT_EQ(read(path("precious")), "precious");
}

TEST_F(PartialFiles, FailuresNameTheFileAndWhy) {
  const auto missing = write_text_file(path("no/such/folder"), "text");
  ASSERT_FALSE(missing.ok());
  EXPECT_EQ(missing.failure().error, Error::kIo);
  EXPECT_NE(
      missing.failure().text.find("cannot write " + path("no/such/folder") + ": No such file"),
      std::string::npos)
      << missing.failure().text;
  fs::create_directory(path("folder"));
  EXPECT_FALSE(write_text_file(path("folder"), "text").ok());
  EXPECT_EQ(count(), 1u) << "nothing is left";
  fs::create_directory(PartialFile::path_for(path("a")));
  EXPECT_FALSE(write_text_file(path("a"), "text").ok());
}

}  // namespace
}  // namespace lazyrt
