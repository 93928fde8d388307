#include "runtime/core/allocator.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

namespace lazyrt {
namespace {

TEST(SerialAllocator, LetsOneThreadInAtATime) {
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
  SerialAllocator serial(&hooks);
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([allocator = serial.allocator()] {
      for (int i = 0; i < 500; ++i)
        allocator.release(allocator.context, allocator.allocate(allocator.context, 8, 8));
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(source.met, 0);
}

}  // namespace
}  // namespace lazyrt
