#include "platforms/posix/lazy_run/json_stream.h"

#include <gtest/gtest.h>

#include <functional>

namespace lazyrt::run {
namespace {

std::string written(const std::function<void(JsonStream* json)>& write) {
  std::FILE* file = std::tmpfile();
  JsonStream json(file);
  write(&json);
  std::rewind(file);
  std::string text;
  for (int c = std::fgetc(file); c != EOF; c = std::fgetc(file)) text += static_cast<char>(c);
  std::fclose(file);
  return text;
}

TEST(JsonStream, WritesWhatAnObjectInMemoryWouldGive) {
  const std::string text = written([](JsonStream* json) {
    json->begin_object();
    json->members({{"a", 1}, {"b", {1, 2}}});
    json->key("empty");
    json->begin_list();
    json->end_list();
    json->key("nested");
    json->begin_list();
    for (int i = 0; i < 2; ++i) {
      json->begin_object();
      json->member("i", i);
      json->key("list");
      json->begin_list();
      json->value("x");
      json->value(nullptr);
      json->end_list();
      json->end_object();
    }
    json->end_list();
    json->member("last", true);
    json->end_object();
  });
  EXPECT_EQ(text, R"({"a":1,"b":[1,2],"empty":[],"nested":[{"i":0,"list":["x",null]},)"
                  R"({"i":1,"list":["x",null]}],"last":true})");
}

/// DEL and C1 are control characters that JSON does not ask to be escaped.
TEST(JsonStream, IsAsciiWhateverTheTextsAre) {
  const std::string text = written([](JsonStream* json) {
    json->begin_object();
    json->member("k\x1b\x7f\xc2\x9b", "\x1b]0;x\x07\xff\xc3\xbc");
    json->end_object();
  });
  for (const char c : text) EXPECT_TRUE(c >= 0x20 && c < 0x7f) << text;
  EXPECT_EQ(Json::parse(text).begin().key(), "k\x1b\x7f\xc2\x9b");
}

}  // namespace
}  // namespace lazyrt::run
