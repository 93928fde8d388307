// lazy-run reports of everything that was found once, and nothing in its words is acted on.

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "lazyrt/runtime.h"
#include "tests/fuzz/report_walk.h"
#include "tests/support/branching_bundle.h"
#include "tests/support/mixed_bundle.h"

namespace lazyrt::fuzz {
namespace {

TEST(Reports, AreRightOfEachSeed) {
  int reported = 0;
  for (const auto& entry : std::filesystem::directory_iterator(LAZYRT_FUZZ_SEEDS)) {
    SCOPED_TRACE(entry.path());
    std::ifstream in(entry.path(), std::ios::binary);
    const std::string bytes((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
    const test::AlignedBytes file(reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size());
    for (uint32_t choice = 0; choice < kFirstMethodBit; ++choice)
      ASSERT_EQ(report_fault(file.span(), choice, &reported), "") << choice;
  }
  EXPECT_GT(reported, 0);
}

/// Each way of reporting is reached.
TEST(Reports, AreMadeInEachWay) {
  for (const test::BundleParts& parts :
       {test::mixed_bundle(default_ops()), test::branching_bundle()}) {
    const test::AlignedBytes file = test::write_bundle(parts);
    for (uint32_t choice = 0; choice < kFirstMethodBit; ++choice) {
      int reported = 0;
      EXPECT_EQ(report_fault(file.span(), choice, &reported), "") << choice;
      EXPECT_EQ(reported, 1) << choice;
    }
  }
}

}  // namespace
}  // namespace lazyrt::fuzz
