#include "runtime/core/pool.h"

#include <gtest/gtest.h>

#include "runtime/core/counted_memory.h"

namespace lazyrt {
namespace {

struct Zeros {
  int32_t a;
  void* b;
};
struct Ones {
  int64_t one = 1;
};

class Memory : public testing::Test {
 protected:
  CountedMemory counted_{platform_allocator(), 4096};
};

TEST_F(Memory, ElementsBeginAsTheirTypesDo) {
  Pool pool(counted_.allocator());
  for (const Zeros& element : pool.make<Zeros>(7)) {
    EXPECT_EQ(element.a, 0);
    EXPECT_EQ(element.b, nullptr);
  }
  const auto ones = pool.make<Ones>(7);
  ASSERT_EQ(ones.size(), 7u);
  for (const Ones& element : ones) EXPECT_EQ(element.one, 1);
  EXPECT_TRUE(pool.make<Ones>(0).empty());
  EXPECT_FALSE(pool.is_short());
}

TEST_F(Memory, AllIsForgottenOrWhatWasMadeLast) {
  {
    Pool pool(counted_.allocator());
    const auto kept = pool.make<Ones>(10);
    const void* last = pool.last();
    const uint64_t used = counted_.used();
    (void)pool.make<Ones>(20);
    (void)pool.make<Zeros>(20);
    EXPECT_GT(counted_.used(), used);
    pool.forget_since(last);
    EXPECT_EQ(counted_.used(), used);
    EXPECT_EQ(kept[9].one, 1);
    (void)pool.make<Ones>(1);
  }
  EXPECT_EQ(counted_.used(), 0u);
}

TEST_F(Memory, ThatIsShortGivesNothingAndSaysSo) {
  Pool pool(counted_.allocator());
  EXPECT_TRUE(pool.make<Ones>(513).empty());
  EXPECT_TRUE(pool.is_short());
  EXPECT_TRUE(pool.make<Ones>(SIZE_MAX / 4).empty());
  EXPECT_EQ(pool.make<Ones>(1).size(), 1u);
  EXPECT_TRUE(pool.is_short());
}

}  // namespace
}  // namespace lazyrt
