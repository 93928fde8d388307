// Every allocation fails once, whichever of a caller's calls it is in: that call answers
// kOutOfMemory, made again it succeeds, results are what they are, and nothing leaks.

#include <gtest/gtest.h>

#include "tests/stress/counting_malloc.h"
#include "tests/support/fault_walk.h"

namespace lazyrt {
namespace {

using test::FaultWalk;
using test::WalkScript;
using test::WalkWatch;

constexpr size_t kMost = 20000;

/// The ways to make a session that take memory of their own.
struct Way {
  const char* name;
  bool on_cpu;
  int threads;
  bool reserve;
  bool watched;
};
constexpr Way kWays[] = {
    {"reference", false, 1, false, false},  {"cpu", true, 1, false, false},
    {"cpu_threads", true, 2, false, false}, {"cpu_reserve", true, 1, true, false},
    {"cpu_watched", true, 1, false, true},
};

class OneFailure : public testing::TestWithParam<std::tuple<Way, int>> {
 protected:
  SessionOptions options(const Watch* watch) const {
    const Way& way = std::get<0>(GetParam());
    SessionOptions options;
    options.backend = way.on_cpu ? cpu_backend() : reference_backend();
    options.threads = way.threads;
    options.reserve = way.reserve;
    options.watch = way.watched ? watch : nullptr;
    options.profile = way.watched;
    return options;
  }
  WalkWatch seen_;
};

TEST_P(OneFailure, OfTheHooksMemoryIsSaidAndHarmless) {
  WalkScript script = test::walk_script(std::get<1>(GetParam()), default_ops());
  const Watch watch = seen_.watch();
  size_t said = 0, n = 0;
  for (bool done = false; !done; ++n) {
    ASSERT_LT(n, kMost);
    test::FailOnce memory(n == 0 ? SIZE_MAX : n - 1);  // the first walk: what comes out
    {
      SessionOptions with_hooks = options(&watch);
      with_hooks.allocator = memory.hooks();
      FaultWalk walk(&script, with_hooks);
      said += walk.go();
      ASSERT_STREQ(walk.wrong(), "") << "allocation " << n;
    }
    ASSERT_EQ(memory.live(), 0) << "allocation " << n;
    done = n != 0 && !memory.failed();
  }
  EXPECT_EQ(said, n - 2) << "each failure is told once, as kOutOfMemory";
  EXPECT_GT(n, 30u);
  EXPECT_EQ(seen_.values != 0, std::get<0>(GetParam()).watched);
}

/// What no hooks know of, too: threads, libraries.
TEST_P(OneFailure, OfMallocIsSaidAndHarmless) {
  if (!test::can_count_allocations()) GTEST_SKIP() << test::kCannotCount;
  WalkScript script = test::walk_script(std::get<1>(GetParam()), default_ops());
  const Watch watch = seen_.watch();
  const SessionOptions from_malloc = options(&watch);
  for (int i = 0; i < 3; ++i) FaultWalk(&script, from_malloc).go();  // what libraries keep
  size_t said = 0, n = 0;
  for (bool done = false; !done; ++n) {
    ASSERT_LT(n, kMost);
    FaultWalk walk(&script, from_malloc);
    long balance = 0;
    {
      const test::FailingMemory memory(n, test::FailingMemory::kOnce);
      said += walk.go();
      done = !memory.failed();
      balance = memory.balance();
    }
    ASSERT_STREQ(walk.wrong(), "") << "allocation " << n;
    ASSERT_EQ(balance, 0) << "allocation " << n << " leaks, or frees twice";
  }
  EXPECT_GT(said, 30u);
}

/// Threads are started for each session: on a busy machine that takes long, so of the small script.
std::vector<std::tuple<Way, int>> ways_and_scripts() {
  std::vector<std::tuple<Way, int>> all;
  for (const Way& way : kWays) {
    for (int script = way.threads == 1 ? 0 : 2; script < test::kWalkScripts; ++script)
      all.emplace_back(way, script);
  }
  return all;
}

INSTANTIATE_TEST_SUITE_P(Ways, OneFailure, testing::ValuesIn(ways_and_scripts()),
                         [](const auto& param) {
                           return std::string(std::get<0>(param.param).name) + "_" +
                                  std::to_string(std::get<1>(param.param));
                         });

}  // namespace
}  // namespace lazyrt
