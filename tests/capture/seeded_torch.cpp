// Seeds LibTorch's generator before each test. By default it has another seed in each process.

#include <ATen/ATen.h>
#include <gtest/gtest.h>

namespace lazyrt::test {
namespace {

class Seeding : public testing::EmptyTestEventListener {
  void OnTestStart(const testing::TestInfo&) override { at::manual_seed(1); }
};

[[maybe_unused]] const bool is_listening = [] {
  testing::UnitTest::GetInstance()->listeners().Append(new Seeding);
  return true;
}();

}  // namespace
}  // namespace lazyrt::test
