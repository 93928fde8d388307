#include "runtime/core/kept_texts.h"

#include <gtest/gtest.h>

#include <string>
#include <thread>
#include <vector>

namespace lazyrt {
namespace {

TEST(KeptTexts, KeepsEachTextOnce) {
  KeptTexts texts;
  std::string a = "too wide";
  const char* kept = texts.keep(a.c_str(), platform_allocator());
  a = "too long";
  const char* other = texts.keep(a.c_str(), platform_allocator());
  EXPECT_STREQ(kept, "too wide");
  EXPECT_STREQ(other, "too long");
  EXPECT_EQ(texts.keep("too wide", platform_allocator()), kept);
  EXPECT_EQ(texts.keep("too long", platform_allocator()), other);
}

TEST(KeptTexts, TakesNoMoreMemoryThanSoManyTextsNeed) {
  static int live, made;
  live = made = 0;
  const Allocator counting = {nullptr,
                              [](void*, size_t bytes, size_t alignment) {
                                ++live, ++made;
                                return platform_allocator().allocate(nullptr, bytes, alignment);
                              },
                              [](void*, void* pointer) {
                                --live;
                                platform_allocator().release(nullptr, pointer);
                              }};
  {
    KeptTexts texts;
    for (int i = 0; i < 3 * KeptTexts::kMost; ++i) {
      const char* kept = texts.keep(("reason " + std::to_string(i)).c_str(), counting);
      ASSERT_NE(kept, nullptr);
      if (i >= KeptTexts::kMost) {
        EXPECT_STREQ(kept, "(too many reasons)");
      }
    }
    EXPECT_EQ(made, KeptTexts::kMost);
    EXPECT_STREQ(texts.keep("reason 0", counting), "reason 0");
  }
  EXPECT_EQ(live, 0);
}

TEST(KeptTexts, NullWhenMemoryIsShort) {
  KeptTexts texts;
  const Allocator none = {nullptr, [](void*, size_t, size_t) -> void* { return nullptr; },
                          [](void*, void*) {}};
  EXPECT_EQ(texts.keep("a", none), nullptr);
}

TEST(KeptTexts, ThreadsGetTheSameCopies) {
  KeptTexts texts;
  std::vector<const char*> found[4];
  std::vector<std::thread> threads;
  for (auto& mine : found) {
    threads.emplace_back([&] {
      for (int i = 0; i < 100; ++i)
        mine.push_back(texts.keep(std::to_string(i).c_str(), platform_allocator()));
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const auto& other : found) EXPECT_EQ(other, found[0]);
}

}  // namespace
}  // namespace lazyrt
