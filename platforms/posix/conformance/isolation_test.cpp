// A case that ends its process or hangs costs itself only.

#include "platforms/posix/conformance/isolation.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <set>

#include "platforms/posix/conformance/frame.h"

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

std::set<int> writable_pipes() {
  std::set<int> found;
  for (int fd = 3; fd < 1024; ++fd) {
    struct stat about;
    if (fstat(fd, &about) == 0 && S_ISFIFO(about.st_mode) &&
        (fcntl(fd, F_GETFL) & O_ACCMODE) == O_WRONLY) {
      found.insert(fd);
    }
  }
  return found;
}

/// Writes to the pipe that this process has and `before` has not: a worker's to its parent.
bool write_to_parent(const std::set<int>& before, const Frame& frame) {
  for (const int fd : writable_pipes()) {
    if (before.count(fd) == 0) return write(fd, &frame, sizeof(frame)) == sizeof(frame);
  }
  return false;
}

TEST(Isolation, BelievesNoBytesThatAreNoResult) {
  Frame kind, length;
  kind.kind = static_cast<Outcome::Kind>(200);
  length.message_bytes = 0xfffffff0;
  Frame parents_word;
  parents_word.kind = Outcome::Kind::kTimedOut;
  const std::set<int> before = writable_pipes();
  for (const Frame& bad : {kind, length, parents_word}) {
    EXPECT_FALSE(is_valid(bad));
    const std::vector<Outcome> all = run(3, 60, [&](size_t i) {
      if (i == 1 && !write_to_parent(before, bad)) _exit(7);
      return Outcome{Outcome::Kind::kFailed, 0, 0, "said"};
    });
    ASSERT_EQ(all.size(), 3u);
    EXPECT_EQ(all[0].message, "said");
    EXPECT_EQ(all[1].kind, Outcome::Kind::kCrashed);
    EXPECT_EQ(all[1].message, "its process sent bytes that are no result");
    EXPECT_EQ(all[2].message, "said");
  }
}

TEST(Isolation, CutsLongMessages) {
  const std::vector<Outcome> all = run(2, 60, [](size_t) {
    return Outcome{Outcome::Kind::kFailed, 0, 0, std::string(kMostMessageBytes + 1, 'x')};
  });
  ASSERT_EQ(all.size(), 2u);
  for (const Outcome& outcome : all) EXPECT_EQ(outcome.message.size(), kMostMessageBytes);
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
