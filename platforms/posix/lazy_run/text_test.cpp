#include "platforms/posix/lazy_run/text.h"

#include <gtest/gtest.h>

namespace lazyrt::run {
namespace {

TEST(Text, WhatSteersATerminalIsEscaped) {
  EXPECT_EQ(printable("y\x1b]0;owned\x07\x1b[31m"), "y\\x1b]0;owned\\x07\\x1b[31m");
  EXPECT_EQ(printable("a\nb\r\tc\x7f"), "a\\x0ab\\x0d\\x09c\\x7f");
  EXPECT_EQ(printable("csi \xc2\x9b"), "csi \\xc2\\x9b");
  EXPECT_EQ(printable("turned \xe2\x80\xae"), "turned \\xe2\\x80\\xae");
  EXPECT_EQ(printable("lines \xe2\x80\xa8"), "lines \\xe2\\x80\\xa8");
  EXPECT_EQ(printable(std::string("a\0b", 3)), "a\\x00b");
  EXPECT_EQ(printable_lines("a\nb\x1b"), "a\nb\\x1b");
}

TEST(Text, WhatIsNotUtf8IsEscaped) {
  for (const char* bad : {"\xff", "\xc3", "\xc0\xaf", "\xe0\x80\x80", "\xed\xa0\x80", "\x80",
                          "\xf4\x90\x80\x80", "\xc3(", "\xe2\x80"}) {
    const std::string out = printable(bad);
    for (const char c : out) EXPECT_GE(c, 0x20) << out;
    EXPECT_NE(out.find("\\x"), std::string::npos);
  }
}

TEST(Text, AllElseStays) {
  const std::string text = "gr\xc3\xbc\xc3\x9f \xe6\xa8\xa1\xf0\x9f\xa4\x96 a.b/c_1 %s \\";
  EXPECT_EQ(printable(text), text);
  EXPECT_EQ(printable(printable("\x1b\n")), printable("\x1b\n"));
}

TEST(Text, LongTextsAreCutBetweenCharacters) {
  EXPECT_EQ(shortened("abcd", 4), "abcd");
  EXPECT_EQ(shortened("abcde", 4), "abcd...");
  EXPECT_EQ(shortened("abc\xc3\xbc", 4), "abc...");
  EXPECT_EQ(shortened("ab\xf0\x9f\xa4\x96", 5), "ab...");
  EXPECT_EQ(shortened("\x80\x80\x80\x80\x80\x80\x80\x80", 7).size(), 7u);
  EXPECT_EQ(shortened("", 4), "");
  EXPECT_EQ(shown("a\x1b"), "a\\x1b");
}

}  // namespace
}  // namespace lazyrt::run
