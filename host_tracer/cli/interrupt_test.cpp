#include "host_tracer/cli/interrupt.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace lazyrt {
namespace {

/// The wait status of a child that makes `path`, and gets the signal inside or after the scope.
int signalled_child(const std::string& path, int number, bool inside) {
  const pid_t child = fork();
  if (child == 0) {
    signal(number, SIG_DFL);
    std::ofstream(path) << "half";
    {
      const RemoveOnInterrupt guard(path);
      const RemoveOnInterrupt other(path + ".more");
      if (inside) raise(number);
    }
    raise(number);
    _exit(0);
  }
  int status = 0;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  return status;
}

class Interrupt : public testing::TestWithParam<int> {
 protected:
  const std::string path_ = testing::TempDir() + "interrupt_" + std::to_string(getpid());
};

TEST_P(Interrupt, RemovesTheFileAndTellsTheSignal) {
  const int status = signalled_child(path_, GetParam(), /*inside=*/true);
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 128 + GetParam());
  EXPECT_FALSE(std::filesystem::exists(path_));
}

TEST_P(Interrupt, OutsideOfTheScopeTheSignalKillsAndTheFileStays) {
  const int status = signalled_child(path_, GetParam(), /*inside=*/false);
  ASSERT_TRUE(WIFSIGNALED(status));
  EXPECT_EQ(WTERMSIG(status), GetParam());
  EXPECT_TRUE(std::filesystem::remove(path_));
}

INSTANTIATE_TEST_SUITE_P(Signals, Interrupt, testing::Values(SIGINT, SIGTERM, SIGHUP));

}  // namespace
}  // namespace lazyrt
