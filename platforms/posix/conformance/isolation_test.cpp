// A case that ends its process or hangs costs itself only.

#include "platforms/posix/conformance/isolation.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>

namespace lazyrt::conformance {
namespace {

std::vector<Outcome> run(size_t count, double limit_seconds,
                         const std::function<Outcome(size_t)>& work) {
  std::vector<Outcome> out;
  run_isolated(count, limit_seconds, work, [&](size_t i, const Outcome& outcome) {
    EXPECT_EQ(i, out.size());
    out.push_back(outcome);
  });
  return out;
}

TEST(Isolation, GivesWhatTheCasesSay) {
  const std::vector<Outcome> all = run(300, 60, [](size_t i) {
    return Outcome{Outcome::Kind::kFailed, static_cast<double>(i), 0.5, std::string(i * 7, 'x')};
  });
  ASSERT_EQ(all.size(), 300u);
  for (size_t i = 0; i < all.size(); ++i) {
    EXPECT_EQ(all[i].kind, Outcome::Kind::kFailed);
    EXPECT_EQ(all[i].max_error, static_cast<double>(i));
    EXPECT_EQ(all[i].milliseconds, 0.5);
    EXPECT_EQ(all[i].message.size(), i * 7);
  }
}

TEST(Isolation, OutlivesCrashes) {
  const std::vector<Outcome> all = run(5, 60, [](size_t i) {
    if (i == 0 || i == 4) std::raise(SIGKILL);
    if (i == 2) _exit(7);
    return Outcome();
  });
  ASSERT_EQ(all.size(), 5u);
  EXPECT_EQ(all[0].kind, Outcome::Kind::kCrashed);
  EXPECT_NE(all[0].message.find("signal 9"), std::string::npos) << all[0].message;
  EXPECT_EQ(all[1].kind, Outcome::Kind::kPassed);
  EXPECT_EQ(all[2].kind, Outcome::Kind::kCrashed);
  EXPECT_EQ(all[3].kind, Outcome::Kind::kPassed);
  EXPECT_EQ(all[4].kind, Outcome::Kind::kCrashed);
}

TEST(Isolation, EndsWhatHangs) {
  const std::vector<Outcome> all = run(3, 0.5, [](size_t i) {
    while (i == 1) usleep(100000);
    return Outcome();
  });
  ASSERT_EQ(all.size(), 3u);
  EXPECT_EQ(all[0].kind, Outcome::Kind::kPassed);
  EXPECT_EQ(all[1].kind, Outcome::Kind::kTimedOut);
  EXPECT_EQ(all[2].kind, Outcome::Kind::kPassed);
}

}  // namespace
}  // namespace lazyrt::conformance
