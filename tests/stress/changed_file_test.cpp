// What becomes of a program whose file is replaced, cut or written over while it is mapped: what
// runtime/SECURITY.md promises, and what it asks of the caller.

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <string>

#include "lazyrt/runtime.h"
#include "tests/support/fault_walk.h"

namespace lazyrt {
namespace {

class ChangedFile : public testing::Test {
 protected:
  void SetUp() override {
    script_ = test::walk_script(0, default_ops());
    path_ = testing::TempDir() + "changed_" + std::to_string(getpid()) + ".lzb";
    write(path_, script_.file.data(), script_.file.size());
    expected_ = run(make(*Program::load(script_.file.span(), default_ops())));
  }
  void TearDown() override { std::remove(path_.c_str()); }

  static void write(const std::string& path, const uint8_t* data, size_t bytes) {
    std::ofstream(path, std::ios::binary)
        .write(reinterpret_cast<const char*>(data), static_cast<std::streamsize>(bytes));
  }
  Result<Program> open() const { return Program::open(path_.c_str(), default_ops()); }
  /// On the reference backend, which packs nothing: each run reads the constants where they are.
  static Session make(const Program& program) {
    SessionOptions options;
    options.backend = reference_backend();
    Result<Session> session = Session::create(program.method(0), options);
    EXPECT_TRUE(session.ok());
    return std::move(*session);
  }
  std::vector<uint8_t> run(Session session) const { return run(&session); }
  std::vector<uint8_t> run(Session* session) const {
    for (size_t i = 0; i < script_.runs[0].size(); ++i)
      EXPECT_TRUE(session->set_input(i, script_.runs[0][i]).ok());
    EXPECT_TRUE(session->run().ok());
    const TensorView view = *session->output(0);
    const auto* data = static_cast<const uint8_t*>(view.data);
    return {data, data + view.bytes()};
  }

  test::WalkScript script_;
  std::string path_;
  std::vector<uint8_t> expected_;
};

TEST_F(ChangedFile, OneThatIsRenamedOverItLeavesTheMappingAsItIs) {
  const Result<Program> program = open();
  ASSERT_TRUE(program.ok());
  Session session = make(*program);
  EXPECT_EQ(run(&session), expected_);
  const std::string text = "no bundle";
  write(path_ + ".new", reinterpret_cast<const uint8_t*>(text.data()), text.size());
  ASSERT_EQ(std::rename((path_ + ".new").c_str(), path_.c_str()), 0);
  EXPECT_EQ(run(&session), expected_);
  EXPECT_EQ(run(make(*program)), expected_) << "a session made later";
  EXPECT_EQ(open().status().error(), Error::kInvalidBundle) << "who opens it now gets the new one";
}

TEST_F(ChangedFile, OneThatIsRemovedLeavesTheMappingAsItIs) {
  const Result<Program> program = open();
  ASSERT_TRUE(program.ok());
  std::remove(path_.c_str());
  EXPECT_EQ(run(make(*program)), expected_);
}

/// This is why a bundle is to be replaced by renaming.
TEST_F(ChangedFile, OneThatIsCutEndsTheProcess) {
  const Result<Program> program = open();
  ASSERT_TRUE(program.ok());
  Session session = make(*program);
  GTEST_FLAG_SET(death_test_style, "fast");
  EXPECT_DEATH(
      {
        ASSERT_EQ(truncate(path_.c_str(), 0), 0);
        run(&session);
      },
      "");
}

/// For files that others can write.
TEST_F(ChangedFile, OfBytesThatWereReadFirstTheFileDoesNotMatter) {
  std::ifstream file(path_, std::ios::binary);
  const std::string text((std::istreambuf_iterator<char>(file)), {});
  const test::AlignedBytes bytes(reinterpret_cast<const uint8_t*>(text.data()), text.size());
  const Result<Program> program = Program::load(bytes.span(), default_ops());
  ASSERT_TRUE(program.ok());
  Session session = make(*program);
  const std::string other(text.size(), 'x');
  write(path_, reinterpret_cast<const uint8_t*>(other.data()), other.size());
  EXPECT_EQ(run(&session), expected_);
  ASSERT_EQ(truncate(path_.c_str(), 0), 0);
  EXPECT_EQ(run(&session), expected_);
}

}  // namespace
}  // namespace lazyrt
