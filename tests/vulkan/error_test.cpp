// Errors that shaders find have the texts of the reference kernels: the first node that fails, its
// first wrong index and its value.

#include <cstring>
#include <random>

#include "tests/vulkan/on_vulkan.h"

namespace lazyrt {
namespace {

using test::Mode;
using test::OnVulkan;

class VulkanErrors : public OnVulkan<Mode> {
 protected:
  void SetUp() override { open(GetParam()); }

  template <class T>
  void set(size_t input, const std::vector<T>& data) {
    for (Session* session : {&*here_, &*there_})
      ASSERT_TRUE(session->set_input(input, data.data(), data.size() * sizeof(T)).ok());
  }
  void make(const test::BundleParts& parts) {
    here_.reset();
    there_.reset();
    loaded_.emplace(parts, default_ops());
    here_.emplace(test::make(loaded_->method()));
    there_.emplace(test::make(loaded_->method(), options_));
  }
  /// Runs both sessions. From the node on, their messages are the same.
  void run(Error expected) {
    const auto text = [](const Status& status) {
      const char* node = std::strstr(status.message(), "node ");
      return std::string(node == nullptr ? status.message() : node);
    };
    const Status here = here_->run(), there = there_->run();
    EXPECT_EQ(here.error(), expected);
    EXPECT_EQ(there.error(), expected);
    EXPECT_EQ(text(there), text(here));
    last_ = text(there);
  }

  std::optional<test::Loaded> loaded_;
  std::optional<Session> here_, there_;
  std::string last_;
};
INSTANTIATE_TEST_SUITE_P(Modes, VulkanErrors, testing::ValuesIn(test::kModes),
                         [](const auto& test) { return test::mode_name(test.param); });

TEST_P(VulkanErrors, NameTheFirstWrongIndexAndItsValue) {
  test::BundleParts parts;
  test::MethodBuilder b(&parts);
  const int x = b.input("x", DType::kFloat32, {5, 3});
  const int ids = b.input("ids", DType::kInt64, {4});
  b.output("y", b.infer(default_ops(), fb::IndexSelectT{}, {x, ids}));
  make(parts);
  set(0, std::vector<float>(15));
  constexpr int64_t kFar = -5 * (int64_t{1} << 40);
  set<int64_t>(1, {4, -6, kFar, 5});
  run(Error::kOutOfRange);
  EXPECT_EQ(last_, "node 0 (index_select): index_select: index -6 at position 1 is not in [-5, 5)");
  set<int64_t>(1, {4, -5, kFar, 5});
  run(Error::kOutOfRange);
  EXPECT_THAT(last_, testing::HasSubstr("index -5497558138880 at position 2"));
  set<int64_t>(1, {4, 0, 2, 3});
  run(Error::kOk);
}

/// Many invocations find wrong indices at once.
TEST_P(VulkanErrors, NameTheFirstOfManyWrongIndices) {
  constexpr int64_t kRows = 300, kCount = 5000;
  std::mt19937_64 random(11);
  for (const bool wide : {false, true}) {
    test::BundleParts parts;
    test::MethodBuilder b(&parts);
    const int x = b.input("x", DType::kFloat32, {kRows, 4});
    const int ids = b.input("ids", wide ? DType::kInt64 : DType::kInt32, {kCount});
    b.output("y", b.infer(default_ops(), fb::IndexSelectT{}, {x, ids}));
    make(parts);
    set(0, std::vector<float>(kRows * 4));
    for (int round = 0; round < 20; ++round) {
      std::vector<int64_t> values(kCount);
      const size_t good = random() % kCount;
      for (size_t i = 0; i < values.size(); ++i) {
        const auto any = static_cast<int64_t>(random());
        const bool wrong = i >= good && random() % 3 == 0;
        values[i] = !wrong ? any % kRows : wide ? any : static_cast<int32_t>(any);
      }
      if (wide)
        set(1, values);
      else
        set(1, std::vector<int32_t>(values.begin(), values.end()));
      run(Error::kOutOfRange);
    }
  }
}

/// More nodes than there are slots, none of which waits for another one: of those that fail, the
/// first is named.
TEST_P(VulkanErrors, NameTheFirstOfManyNodes) {
  constexpr size_t kNodes = 40;
  test::BundleParts parts;
  test::MethodBuilder b(&parts);
  const int x = b.input("x", DType::kFloat32, {10});
  for (size_t i = 0; i < kNodes; ++i) {
    const std::string name = std::to_string(i);
    const int index = b.input("i" + name, DType::kInt64, {6});
    b.output("y" + name, b.infer(default_ops(), fb::GatherT{}, {x, index}));
  }
  make(parts);
  set(0, std::vector<float>(10));
  std::mt19937_64 random(12);
  for (int round = 0; round < 20; ++round) {
    const size_t bad = random() % kNodes;
    for (size_t i = 0; i < kNodes; ++i) {
      std::vector<int64_t> index(6);
      for (int64_t& at : index) at = static_cast<int64_t>(random() % 10);
      if (i == bad || (i > bad && random() % 2 == 0))
        index[random() % 6] = static_cast<int64_t>(10 + random() % 1000);
      set(1 + i, index);
    }
    run(Error::kOutOfRange);
    EXPECT_THAT(last_, testing::StartsWith("node " + std::to_string(bad) + " (gather)"));
  }
}

}  // namespace
}  // namespace lazyrt
