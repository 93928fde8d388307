// Shaders that are wrong, always or now and then, are found by a bundle's samples.

#include "lazyrt/self_test.h"

#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <fstream>

#include "lazyrt/log.h"
#include "runtime/backends/vulkan/recorder.h"
#include "tests/vulkan/on_vulkan.h"

namespace lazyrt {
namespace {

using test::BundleParts;
using test::Loaded;

constexpr float kX[4] = {-1, 2, -3, 4}, kY[4] = {0, 4, 0, 8};

/// y = relu(x + x), with a sample.
BundleParts sampled_bundle(const float* y = kY) {
  BundleParts parts;
  test::MethodBuilder b(&parts);
  const int x = b.input("x", DType::kFloat32, {4});
  const int sum = b.infer(default_ops(), test::add(), {x, x});
  const int last = b.infer(default_ops(), test::relu(), {sum});
  b.output("y", last);
  auto sample = std::make_unique<fb::SampleT>();
  fb::MethodT& method = b.method();
  sample->inputs.push_back(parts.sample_blob(*method.values[static_cast<size_t>(x)], kX));
  sample->outputs.push_back(parts.sample_blob(*method.values[static_cast<size_t>(last)], y));
  method.samples.push_back(std::move(sample));
  return parts;
}

/// All operators; on Vulkan the unary ones are what `run` records.
class WithUnary {
 public:
  explicit WithUnary(Fault (*run)(void*, const RunContext&)) {
    kernel_.run = run;
    kernel_.prepare = [](const PrepareContext&, PreparedKernel* prepared) {
      prepared->workspace_bytes = 64;
      return Fault();
    };
    for (const OpEntry& entry : default_ops().builtin) entries_.push_back(entry);
    entries_[static_cast<size_t>(fb::OpAttrs::Unary)]
        .kernels[static_cast<size_t>(KernelSlot::kVulkan)] = &kernel_;
    table_.builtin = {entries_.data(), entries_.size()};
  }
  const OpTable& table() const { return table_; }

 private:
  Kernel kernel_;
  std::vector<OpEntry> entries_;
  OpTable table_;
};

Fault keep_negatives(void*, const RunContext& context) {
  return recorder_of(context).copy(context.outputs[0].data, context.inputs[0].data, 16);
}
/// Gives what the last run was given.
Fault give_the_last(void*, const RunContext& context) {
  Recorder& recorder = recorder_of(context);
  LAZYRT_RETURN_IF_ERROR(recorder.copy(context.outputs[0].data, context.workspace, 16));
  return recorder.copy(context.workspace, context.inputs[0].data, 16);
}

class VulkanSelfTest : public testing::Test {
 protected:
  void SetUp() override {
    VulkanOptions options;
    options.fallback = cpu_backend();
    Result<VulkanBackend> made = VulkanBackend::create(options);
    ASSERT_TRUE(made.ok()) << made.status().message();
    backend_.emplace(std::move(*made));
  }
  SessionOptions on_it() const {
    SessionOptions options;
    options.backend = backend_->backend();
    return options;
  }
  Result<SelfTestResult> tested(const Loaded& loaded) const {
    SelfTestOptions options;
    options.session = on_it();
    options.trusted = cpu_backend();
    return self_test(loaded.method(), options);
  }

  std::optional<VulkanBackend> backend_;
};

TEST_F(VulkanSelfTest, RunsASampleTwiceWhereAllIsRight) {
  const Loaded loaded(sampled_bundle(), default_ops());
  const Status status = self_test(&*backend_, *loaded.program, cpu_backend());
  ASSERT_TRUE(status.ok()) << status.message();
  EXPECT_EQ(backend_->refused_count(), 0u);
  EXPECT_EQ(backend_->submission_count(), 2u);
}

void expect_relu_is_refused(VulkanBackend* backend, const Loaded& loaded) {
  const Status status = self_test(backend, *loaded.program, cpu_backend());
  ASSERT_TRUE(status.ok()) << status.message();
  ASSERT_EQ(backend->refused_count(), 1u);
  EXPECT_STREQ(backend->refused(0), "unary");
  SessionOptions options;
  options.backend = backend->backend();
  Session session = test::make(loaded.method(), options);
  ASSERT_TRUE(session.set_input(0, kX, sizeof(kX)).ok());
  ASSERT_TRUE(session.run().ok());
  EXPECT_EQ(test::floats(session, 0), std::vector<float>(kY, kY + 4));
  bool is_on_cpu = false;
  for (size_t i = 0; i < session.node_count(); ++i) {
    const NodeInfo node = *session.node(i);
    if (std::string(node.op) != "unary") continue;
    is_on_cpu = std::string(node.backend) == "cpu";
    EXPECT_THAT(node.fallback_reason, testing::HasSubstr("self-test"));
  }
  EXPECT_TRUE(is_on_cpu);
}

TEST_F(VulkanSelfTest, RefusesTheOperatorOfAWrongShader) {
  const WithUnary wrong(keep_negatives);
  const Loaded loaded(sampled_bundle(), wrong.table());
  const Result<SelfTestResult> result = tested(loaded);
  ASSERT_TRUE(result.ok()) << result.status().message();
  EXPECT_FALSE(result->ok);
  EXPECT_FALSE(result->varies);
  ASSERT_TRUE(result->is_located);
  EXPECT_EQ(result->point.node, 1u);
  expect_relu_is_refused(&*backend_, loaded);
}

TEST_F(VulkanSelfTest, RefusesTheOperatorOfAShaderWhoseResultsVary) {
  const WithUnary wrong(give_the_last);
  const Loaded loaded(sampled_bundle(), wrong.table());
  const Result<SelfTestResult> result = tested(loaded);
  ASSERT_TRUE(result.ok()) << result.status().message();
  EXPECT_FALSE(result->ok);
  EXPECT_TRUE(result->varies);
  expect_relu_is_refused(&*backend_, loaded);
}

/// As of two processes, whose folder is one.
TEST_F(VulkanSelfTest, KeepsItsVerdictForTheBundle) {
  const std::string folder = testing::TempDir() + "vulkan_verdicts_" + std::to_string(getpid());
  std::filesystem::create_directories(folder);
  const WithUnary wrong(keep_negatives);
  const Loaded loaded(sampled_bundle(), wrong.table());
  constexpr float kOther[4] = {0, 4, 0, 8.00001F};
  const Loaded other(sampled_bundle(kOther), wrong.table());
  VulkanOptions options;
  options.cache_folder = folder.c_str();
  options.fallback = cpu_backend();
  for (int process = 0; process < 3; ++process) {
    Result<VulkanBackend> backend = VulkanBackend::create(options);
    ASSERT_TRUE(backend.ok()) << backend.status().message();
    const Status status = self_test(&*backend, *loaded.program, cpu_backend());
    ASSERT_TRUE(status.ok()) << status.message();
    EXPECT_EQ(backend->submission_count() == 0, process == 1) << "process " << process;
    ASSERT_EQ(backend->refused_count(), 1u);
    EXPECT_STREQ(backend->refused(0), "unary");
    if (process == 1) {
      ASSERT_TRUE(self_test(&*backend, *other.program, cpu_backend()).ok());
      EXPECT_NE(backend->submission_count(), 0u) << "another bundle";
      for (const auto& entry : std::filesystem::directory_iterator(folder)) {
        if (entry.path().extension() == ".verdict") std::ofstream(entry.path()) << "damaged";
      }
    }
  }
  std::filesystem::remove_all(folder);
}

TEST_F(VulkanSelfTest, LogsWhatItFound) {
  static std::string lines;
  lines.clear();
  set_log_hook([](LogLevel level, const char* line) {
    if (level == LogLevel::kWarning) lines += line;
  });
  const WithUnary wrong(keep_negatives);
  const Loaded loaded(sampled_bundle(), wrong.table());
  const Status status = self_test(&*backend_, *loaded.program, cpu_backend());
  set_log_hook(nullptr);
  ASSERT_TRUE(status.ok()) << status.message();
  EXPECT_THAT(
      lines, testing::HasSubstr("self-test of vulkan: sample 0 is wrong, first at node 1 (unary)"));
}

TEST_F(VulkanSelfTest, DoesNotBlameADeviceForWhatTheCpuGivesToo) {
  constexpr float kOther[4] = {0, 5, 0, 8};
  const Loaded loaded(sampled_bundle(kOther), default_ops());
  const Result<SelfTestResult> result = tested(loaded);
  ASSERT_TRUE(result.ok()) << result.status().message();
  EXPECT_TRUE(result->ok);
}

TEST_F(VulkanSelfTest, RefusesAllWhereNoOperatorIsLeftToBlame) {
  const Loaded loaded(sampled_bundle(), default_ops());
  ASSERT_TRUE(backend_->refuse("").ok());
  Session session = test::make(loaded.method(), on_it());
  for (size_t i = 0; i < session.node_count(); ++i) EXPECT_STREQ(session.node(i)->backend, "cpu");
}

}  // namespace
}  // namespace lazyrt
