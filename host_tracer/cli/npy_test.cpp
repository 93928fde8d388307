#include "host_tracer/cli/npy.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstring>

#include "platforms/posix/lazy_run/npy.h"

namespace lazyrt {
namespace {

class NpyFile : public testing::Test {
 protected:
  ~NpyFile() override { unlink(path_.c_str()); }

  Failure refused(const std::string& content) {
    run::write_file(path_, content.data(), content.size());
    const auto tensor = read_npy(path_);
    EXPECT_FALSE(tensor.ok());
    return tensor.ok() ? Failure{} : tensor.failure();
  }

  const std::string path_ = testing::TempDir() + "cli_npy_" + std::to_string(getpid()) + ".npy";
};

TEST_F(NpyFile, KeepsDtypeShapeAndBytes) {
  float values[6] = {1, 2, 3, 4, 5, 6};
  run::write_npy(path_, {values, DType::kFloat32, {2, 3}});
  const auto tensor = read_npy(path_);
  ASSERT_TRUE(tensor.ok()) << tensor.failure().text;
  EXPECT_EQ(tensor->dtype, DType::kFloat32);
  EXPECT_EQ(tensor->shape, (std::vector<int64_t>{2, 3}));
  ASSERT_EQ(tensor->data.bytes, sizeof(values));
  EXPECT_EQ(std::memcmp(tensor->data.data, values, sizeof(values)), 0);
}

TEST_F(NpyFile, EmptyTensors) {
  run::write_npy(path_, {nullptr, DType::kInt64, {0, 3}});
  const auto tensor = read_npy(path_);
  ASSERT_TRUE(tensor.ok()) << tensor.failure().text;
  EXPECT_EQ(tensor->data.bytes, 0u);
}

TEST_F(NpyFile, WhatIsNoTensorIsNamed) {
  const Failure text = refused("hello");
  EXPECT_EQ(text.error, Error::kInvalidArgument);
  EXPECT_THAT(text.text, testing::HasSubstr(path_));
  EXPECT_THAT(text.text, testing::HasSubstr("not a .npy file"));
}

TEST_F(NpyFile, MissingFilesAndFoldersAreNamed) {
  const auto missing = read_npy("/nonexistent/x.npy");
  ASSERT_FALSE(missing.ok());
  EXPECT_EQ(missing.failure().error, Error::kNotFound);
  const auto folder = read_npy("/");
  ASSERT_FALSE(folder.ok());
  EXPECT_EQ(folder.failure().error, Error::kIo);
}

}  // namespace
}  // namespace lazyrt
