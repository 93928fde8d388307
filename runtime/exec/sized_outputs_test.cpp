// Outputs in memory of the caller, of a method with symbols.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/dynamic_bundle.h"
#include "tests/support/float_memory.h"
#include "tests/support/loaded_bundle.h"

namespace lazyrt {
namespace {

using test::Loaded;
using Memory = test::FloatMemory;
using testing::Each;
using testing::HasSubstr;

TEST(OutputsOfSizes, StayBoundAtOtherSizes) {
  const Loaded bundle(test::dynamic_bundle());
  Session session = test::make(bundle.method());
  const Memory total(3 * 64), mask(3 * 64);
  ASSERT_TRUE(session.bind_output(0, total.data, total.bytes).ok());
  ASSERT_TRUE(session.bind_output(1, mask.data, mask.bytes).ok());
  const std::vector<float> x(12, 2), ones(3 * 512, 1);
  const std::vector<int64_t> ids(512, 1);
  const auto run = [&](int64_t n) {
    EXPECT_TRUE(session.set_input(0, x.data(), 48).ok());
    EXPECT_TRUE(session.set_input(1, ids.data(), static_cast<size_t>(n) * 8).ok());
    EXPECT_TRUE(session.set_input(2, ones.data(), static_cast<size_t>(n) * 12).ok());
    return session.run();
  };
  for (const int64_t n : {6, 64, 2, 64}) {
    ASSERT_TRUE(run(n).ok());
    const auto count = static_cast<size_t>(3 * n);
    EXPECT_THAT(total.values(count), Each(9.0f));
    EXPECT_THAT(mask.values(count), Each(1.0f));
    EXPECT_EQ(session.stats().output_copy_bytes, count * 4) << "the input";
    EXPECT_EQ(session.output(0)->data, total.data);
  }
  const Status status = run(128);
  EXPECT_EQ(status.error(), Error::kInvalidArgument);
  EXPECT_THAT(status.message(), HasSubstr("output 'total' takes 1536 bytes (f32[384]), 784 are"));
  EXPECT_EQ(*session.state(0)->as<float>(), 4) << "a run that is refused changes no state";
  const Memory larger(3 * 128), larger_mask(3 * 128, 0);
  ASSERT_TRUE(session.bind_output(0, larger.data, larger.bytes).ok());
  ASSERT_TRUE(session.bind_output(1, larger_mask.data, larger_mask.bytes).ok());
  ASSERT_TRUE(session.run().ok());
  EXPECT_THAT(larger.values(384), Each(9.0f));
}

}  // namespace
}  // namespace lazyrt
