#include "runtime/core/program_memory.h"

#include <gtest/gtest.h>

#include <atomic>
#include <string>
#include <thread>
#include <vector>

namespace lazyrt {
namespace {

const Allocator heap = platform_allocator();

TEST(ProgramMemory, KeepsEachTextOnce) {
  ProgramMemory texts(&heap);
  std::string a = "too wide";
  const char* kept = texts.keep(a.c_str());
  a = "too long";
  const char* other = texts.keep(a.c_str());
  EXPECT_STREQ(kept, "too wide");
  EXPECT_STREQ(other, "too long");
  EXPECT_EQ(texts.keep("too wide"), kept);
  EXPECT_EQ(texts.keep("too long"), other);
}

TEST(ProgramMemory, TakesNoMoreMemoryThanSoManyTextsNeed) {
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
    ProgramMemory texts(&counting);
    for (int i = 0; i < 3 * ProgramMemory::kMostTexts; ++i) {
      const char* kept = texts.keep(("reason " + std::to_string(i)).c_str());
      ASSERT_NE(kept, nullptr);
      if (i >= ProgramMemory::kMostTexts) {
        EXPECT_STREQ(kept, "(too many reasons)");
      }
    }
    EXPECT_EQ(made, ProgramMemory::kMostTexts);
    EXPECT_STREQ(texts.keep("reason 0"), "reason 0");
  }
  EXPECT_EQ(live, 0);
}

TEST(ProgramMemory, NullWhenMemoryIsShort) {
  const Allocator none = {nullptr, [](void*, size_t, size_t) -> void* { return nullptr; },
                          [](void*, void*) {}};
  ProgramMemory texts(&none);
  EXPECT_EQ(texts.keep("a"), nullptr);
}

TEST(ProgramMemory, ThreadsGetTheSameCopies) {
  ProgramMemory texts(&heap);
  std::vector<const char*> found[4];
  std::vector<std::thread> threads;
  for (auto& mine : found) {
    threads.emplace_back([&] {
      for (int i = 0; i < 100; ++i) mine.push_back(texts.keep(std::to_string(i).c_str()));
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const auto& other : found) EXPECT_EQ(other, found[0]);
}

TEST(ProgramMemory, LetsOneThreadInAtATime) {
  struct Source {
    std::atomic<int> inside{0}, met{0};
    void visit() {
      if (inside.fetch_add(1) != 0) ++met;
      std::this_thread::yield();
      --inside;
    }
  } source;
  const Allocator hooks = {&source,
                           [](void* self, size_t bytes, size_t alignment) {
                             static_cast<Source*>(self)->visit();
                             return platform_allocator().allocate(nullptr, bytes, alignment);
                           },
                           [](void* self, void* pointer) {
                             static_cast<Source*>(self)->visit();
                             platform_allocator().release(nullptr, pointer);
                           }};
  ProgramMemory memory(&hooks);
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([allocator = memory.allocator()] {
      for (int i = 0; i < 500; ++i)
        allocator.release(allocator.context, allocator.allocate(allocator.context, 8, 8));
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(source.met, 0);
}

}  // namespace
}  // namespace lazyrt
