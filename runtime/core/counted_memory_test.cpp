#include "runtime/core/counted_memory.h"

#include <gtest/gtest.h>

#include <cstdint>

namespace lazyrt {
namespace {

using Refusal = CountedMemory::Refusal;

void* get(CountedMemory* memory, size_t bytes, size_t alignment = 16) {
  const Allocator a = memory->allocator();
  return a.allocate(a.context, bytes, alignment);
}
void give(CountedMemory* memory, void* pointer) {
  const Allocator a = memory->allocator();
  a.release(a.context, pointer);
}

TEST(CountedMemory, CountsWhatIsOut) {
  CountedMemory memory(platform_allocator(), 1000);
  for (const size_t alignment : {1, 8, 16, 64, 256}) {
    void* a = get(&memory, 100, alignment);
    ASSERT_NE(a, nullptr);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(a) % alignment, 0u);
    EXPECT_GE(memory.used(), 100u);
    give(&memory, a);
    EXPECT_EQ(memory.used(), 0u);
  }
  give(&memory, nullptr);
}

TEST(CountedMemory, RefusesWhatExceedsTheLimitAndSaysSo) {
  CountedMemory memory(platform_allocator(), 1000);
  void* a = get(&memory, 500);
  EXPECT_EQ(get(&memory, 500), nullptr);
  EXPECT_EQ(memory.refusal(), Refusal::kLimit);
  EXPECT_EQ(get(&memory, SIZE_MAX - 4), nullptr);
  EXPECT_FALSE(memory.take(500));
  EXPECT_TRUE(memory.take(400));
  const Status status =
      memory.explained(Status(Error::kOutOfMemory, "no memory for x"), "Options::limit");
  EXPECT_STREQ(status.message(),
               "500 bytes more than the 916 in use exceed Options::limit of 1000: no memory for x");
  EXPECT_STREQ(memory.explained(Status(Error::kBusy, "x"), "Options::limit").message(), "x");
  give(&memory, a);
}

TEST(CountedMemory, ASharesEndIsNotTheLimit) {
  CountedMemory memory(platform_allocator(), 1000);
  memory.begin_share(200);
  void* a = get(&memory, 100);
  ASSERT_NE(a, nullptr);
  EXPECT_EQ(get(&memory, 100), nullptr);
  EXPECT_EQ(memory.refusal(), Refusal::kShare);
  EXPECT_TRUE(memory.take(300)) << "from elsewhere: no share";
  give(&memory, a);
  a = get(&memory, 180);
  EXPECT_NE(a, nullptr) << "what is given back counts no more";
  memory.end_share();
  memory.forget_refusal();
  void* b = get(&memory, 300);
  EXPECT_NE(b, nullptr);
  EXPECT_EQ(memory.refusal(), Refusal::kNone);
  give(&memory, a);
  give(&memory, b);
}

TEST(CountedMemory, ASourceWithoutMemoryIsNoRefusal) {
  const Allocator none = {nullptr, [](void*, size_t, size_t) -> void* { return nullptr; }, nullptr};
  CountedMemory memory(none, 1000);
  EXPECT_EQ(get(&memory, 10), nullptr);
  EXPECT_EQ(memory.refusal(), Refusal::kNone);
  EXPECT_EQ(memory.used(), 0u);
}

}  // namespace
}  // namespace lazyrt
