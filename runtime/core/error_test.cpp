#include "lazyrt/error.h"

#include <gtest/gtest.h>

#include <string>

namespace lazyrt {
namespace {

std::string message_of(const std::string& text) {
  return Status(Error::kInternal, "%s", text.c_str()).message();
}

TEST(Status, HintsAtWhatToDo) {
  EXPECT_STREQ(Status().hint(), "");
  EXPECT_STREQ(Status(Error::kCancelled, "it was cancelled").hint(), "");
  for (int kind = 1; error_name(static_cast<Error>(kind)) != std::string("?"); ++kind) {
    const Status status(static_cast<Error>(kind), "text");
    const std::string hint = status.hint();
    EXPECT_TRUE(hint.empty() ? status.error() == Error::kCancelled : hint.back() == '.') << kind;
  }
  EXPECT_STREQ(error_hint(static_cast<Error>(200)), "");
}

TEST(Status, KeepsWholeCharacters) {
  for (const char* text : {"", "plain", "é…𝄞", "\xed\x9f\xbf", "\xf4\x8f\xbf\xbf"}) {
    EXPECT_EQ(message_of(text), text);
  }
}

TEST(Status, ReplacesWhatIsNoCharacter) {
  EXPECT_EQ(message_of("a\xe2\x80; b"), "a??; b");         // cut
  EXPECT_EQ(message_of("\x80\xff"), "??");                 // begins none
  EXPECT_EQ(message_of("\xc0\xaf\xe0\x80\xaf"), "?????");  // longer than need be
  EXPECT_EQ(message_of("\xed\xa0\x80"), "???");            // half of a pair
  EXPECT_EQ(message_of("\xf4\x90\x80\x80\xf5"), "?????");  // beyond the last
}

TEST(Status, IsCutBetweenCharacters) {
  for (int before = 0; before < 4; ++before) {
    std::string text(static_cast<size_t>(before), 'x');
    while (text.size() < 2 * Status::kMessageBytes) text += "…";
    for (const std::string& message :
         {message_of(text), std::string(Status(Error::kInternal, "%s", text.c_str())
                                            .with_context("in %s", "é…")
                                            .message())}) {
      EXPECT_EQ(message.size(), static_cast<size_t>(Status::kMessageBytes - 1));
      const size_t end = message.find('?');
      EXPECT_TRUE(end == std::string::npos || end + 2 >= message.size()) << message;
      const std::string whole = message.substr(0, end);
      EXPECT_EQ(whole.substr(whole.size() - 3), "…");
    }
  }
}

}  // namespace
}  // namespace lazyrt
