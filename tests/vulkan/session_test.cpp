// Sessions on Vulkan: order of work, errors, states, sizes, other backends beside it.

#include <cmath>
#include <random>

#include "tests/support/dynamic_bundle.h"
#include "tests/support/mixed_bundle.h"
#include "tests/vulkan/on_vulkan.h"

namespace lazyrt {
namespace {

using test::BundleParts;
using test::Loaded;
using test::Mode;
using test::OnVulkan;

class Vulkan : public OnVulkan<Mode> {
 protected:
  void SetUp() override { open(GetParam()); }
  const VulkanBackend& backend() const { return *test::kBackends.of(GetParam()); }
};
INSTANTIATE_TEST_SUITE_P(Modes, Vulkan, testing::ValuesIn(test::kModes),
                         [](const auto& test) { return test::mode_name(test.param); });

TEST_P(Vulkan, RunsAChainOfNodes) {
  BundleParts parts;
  test::MethodBuilder b(&parts);
  const int x = b.input("x", DType::kFloat32, {3, 7});
  const int y = b.infer(default_ops(), test::relu(), {x});
  b.output("y", y);
  b.output("z", b.infer(default_ops(), test::relu(), {y}));
  const Loaded loaded(parts, default_ops());
  Session session = test::make(loaded.method(), options_);
  for (int round = 0; round < 3; ++round) {
    std::vector<float> in(21), expected(21);
    for (int i = 0; i < 21; ++i) in[i] = static_cast<float>(i * (round + 1)) - 10.0F;
    for (int i = 0; i < 21; ++i) expected[i] = std::max(in[i], 0.0F);
    ASSERT_TRUE(session.set_input(0, in.data(), in.size() * 4).ok());
    const Status status = session.run();
    ASSERT_TRUE(status.ok()) << status.message();
    for (size_t i = 0; i < 2; ++i) EXPECT_EQ(test::floats(session, i), expected);
  }
  for (size_t i = 0; i < session.node_count(); ++i)
    EXPECT_STREQ(session.node(i)->backend, "vulkan");
}

TEST_P(Vulkan, AnErrorNamesItsNodeAndTheNextRunIsFree) {
  BundleParts parts;
  test::MethodBuilder b(&parts);
  const int x = b.input("x", DType::kInt32, {5});
  const int y = b.input("y", DType::kInt32, {5});
  fb::BinaryT divide;
  divide.fn = fb::BinaryFn::FloorDivide;
  const int sum = b.infer(default_ops(), test::add(), {x, x});
  b.output("z", b.infer(default_ops(), divide, {sum, y}));
  const Loaded loaded(parts, default_ops());
  Session session = test::make(loaded.method(), options_);
  const int32_t in[5] = {-7, 7, 1, 2, 3}, bad[5] = {1, 2, 0, 3, 4}, good[5] = {3, 3, 1, 2, 5};
  for (int round = 0; round < 2; ++round) {
    ASSERT_TRUE(session.set_input(0, in, sizeof(in)).ok());
    ASSERT_TRUE(session.set_input(1, bad, sizeof(bad)).ok());
    const Status refused = session.run();
    EXPECT_EQ(refused.error(), Error::kOutOfRange);
    EXPECT_THAT(refused.message(), testing::HasSubstr("node 1 (binary)"));
    ASSERT_TRUE(session.set_input(1, good, sizeof(good)).ok());
    const Status status = session.run();
    ASSERT_TRUE(status.ok()) << status.message();
    const auto* z = session.output(0)->as<int32_t>();
    EXPECT_THAT(std::vector<int32_t>(z, z + 5), testing::ElementsAre(-5, 4, 2, 2, 1));
  }
}

/// x f32[4] + sum -> sum, a state; y = relu(sum); with `divides` z = a / b of i32[4] behind it.
BundleParts summing_bundle(bool divides) {
  BundleParts parts;
  test::MethodBuilder b(&parts);
  const int x = b.input("x", DType::kFloat32, {4});
  const int sum = b.state("sum", DType::kFloat32, {4});
  const int next = b.infer(default_ops(), test::add(), {sum, x});
  b.method().states[0]->next = next;
  b.output("y", b.infer(default_ops(), test::relu(), {next}));
  if (!divides) return parts;
  const int a = b.input("a", DType::kInt32, {4}), d = b.input("d", DType::kInt32, {4});
  fb::BinaryT divide;
  divide.fn = fb::BinaryFn::TruncDivide;
  b.output("z", b.infer(default_ops(), divide, {a, d}));
  return parts;
}

TEST_P(Vulkan, AStateLivesThereAndARunIsOneSubmission) {
  const Loaded loaded(summing_bundle(false), default_ops());
  Session session = test::make(loaded.method(), options_);
  const float ones[4] = {1, 1, 1, 1};
  for (int i = 1; i < 5; ++i) {
    ASSERT_TRUE(session.set_input(0, ones, sizeof(ones)).ok());
    const VulkanStatistics before = backend().statistics();
    ASSERT_TRUE(session.run().ok());
    const VulkanStatistics after = backend().statistics();
    EXPECT_EQ(after.submissions, before.submissions + 1);
    EXPECT_EQ(after.waits, before.waits + 1);
    EXPECT_EQ(after.dispatches - before.dispatches, 3U) << "add, relu, and the state's copy";
    if (i == 1) continue;  // the first run brings the state, and makes the staging memory
    const size_t copied = GetParam() == Mode::kStaging ? sizeof(ones) : 0;
    EXPECT_EQ(after.bytes_in, before.bytes_in + copied);
    EXPECT_EQ(after.bytes_out, before.bytes_out + copied);
    EXPECT_EQ(after.memory_bytes, before.memory_bytes);
    EXPECT_EQ(test::floats(session, 0)[2], static_cast<float>(i));
  }
  EXPECT_EQ(session.state(0)->as<float>()[3], 4);
  ASSERT_TRUE(session.reset_state().ok());
  ASSERT_TRUE(session.run().ok());
  EXPECT_EQ(test::floats(session, 0)[0], 1);
}

TEST_P(Vulkan, ARunThatFailsLeavesStatesAsTheyWere) {
  const Loaded loaded(summing_bundle(true), default_ops());
  Session session = test::make(loaded.method(), options_);
  const float ones[4] = {1, 1, 1, 1};
  const int32_t a[4] = {5, -5, 7, 9};
  float expected = 0;
  for (const int32_t last : {2, 0, 1, 0, 0, 3}) {
    const int32_t d[4] = {2, 2, 3, last};
    ASSERT_TRUE(session.set_input(0, ones, sizeof(ones)).ok());
    ASSERT_TRUE(session.set_input(1, a, sizeof(a)).ok());
    ASSERT_TRUE(session.set_input(2, d, sizeof(d)).ok());
    const Status status = session.run();
    EXPECT_EQ(status.error(), last == 0 ? Error::kOutOfRange : Error::kOk) << status.message();
    expected += last == 0 ? 0 : 1;
    EXPECT_EQ(session.state(0)->as<float>()[1], expected);
  }
}

TEST_P(Vulkan, NewSizesMakeNoPipelines) {
  const Loaded loaded(test::relu_chain(5), default_ops());
  Session session = test::make(loaded.method(), options_);
  uint64_t pipelines = 0;
  for (const int64_t n : {64, 1, 4096, 7, 100}) {
    std::vector<float> x = test::random_floats(static_cast<size_t>(n), 3);
    ASSERT_TRUE(session.set_input(0, TensorView{x.data(), DType::kFloat32, {n}}).ok());
    const Status status = session.run();
    ASSERT_TRUE(status.ok()) << status.message();
    for (float& v : x) v = std::max(v, 0.0F);
    EXPECT_EQ(test::floats(session, 0), x);
    if (pipelines != 0) {
      EXPECT_EQ(backend().statistics().pipelines, pipelines);
    }
    pipelines = backend().statistics().pipelines;
  }
}

TEST_P(Vulkan, BesideTheCpuNumbersAreTheSame) {
  VulkanOptions vulkan = test::options_of(GetParam());
  vulkan.fallback = reference_backend();
  Result<VulkanBackend> made = VulkanBackend::create(vulkan);
  ASSERT_TRUE(made.ok()) << made.status().message();
  const Loaded mixed(test::mixed_bundle(default_ops()), default_ops());
  SessionOptions there;
  there.backend = made->backend();
  SessionOptions here;
  here.backend = reference_backend();
  const std::vector<float> image = test::random_floats(12 * 12 * 3, 5);
  const int64_t ids[5] = {1, 9, 0, 3, 3};
  Session sessions[2] = {test::make(mixed.method(), there), test::make(mixed.method(), here)};
  for (int round = 0; round < 2; ++round) {
    for (Session& session : sessions) {
      ASSERT_TRUE(session.set_input(0, image.data(), image.size() * 4).ok());
      ASSERT_TRUE(session.set_input(1, ids, sizeof(ids)).ok());
      const Status status = session.run();
      ASSERT_TRUE(status.ok()) << status.message();
    }
    for (size_t output = 0; output < 2; ++output) {
      const std::vector<float> a = test::floats(sessions[0], output),
                               b = test::floats(sessions[1], output);
      ASSERT_EQ(a.size(), b.size());
      for (size_t i = 0; i < a.size(); ++i) EXPECT_NEAR(a[i], b[i], 1e-5) << i;
    }
  }
}

TEST_P(Vulkan, TimesOfNodesAreTheDevices) {
  const Loaded loaded(test::relu_chain(3, 4096), default_ops());
  options_.profile = true;
  Session session = test::make(loaded.method(), options_);
  const std::vector<float> x = test::random_floats(4096, 3);
  ASSERT_TRUE(
      session.set_input(0, TensorView{const_cast<float*>(x.data()), DType::kFloat32, {4096}}).ok());
  ASSERT_TRUE(session.run().ok());
  for (size_t i = 0; i < session.node_count(); ++i) {
    const NodeInfo node = *session.node(i);
    EXPECT_TRUE(node.is_copy || node.nanoseconds > 0) << i;
  }
}

// What math.glsl promises, at numbers of any size.

struct Wide {
  fb::UnaryFn fn;
  double (*exact)(double);
  double low, high;  ///< magnitudes from 2^low to 2^high
  bool positive = false;
};

void check_wide(const Wide& wide, const SessionOptions& options) {
  constexpr int64_t kCount = 20000;
  std::mt19937_64 random(7);
  std::vector<float> x;
  for (int64_t i = 0; i < kCount; ++i) {
    const double magnitude =
        std::exp2(std::uniform_real_distribution<double>(wide.low, wide.high)(random));
    x.push_back(static_cast<float>(wide.positive || random() % 2 == 0 ? magnitude : -magnitude));
  }
  BundleParts parts;
  test::MethodBuilder b(&parts);
  fb::UnaryT attrs;
  attrs.fn = wide.fn;
  b.output("y", b.infer(default_ops(), attrs, {b.input("x", DType::kFloat32, {kCount})}));
  const Loaded loaded(parts, default_ops());
  Session session = test::make(loaded.method(), options);
  ASSERT_TRUE(session.set_input(0, x.data(), x.size() * 4).ok());
  ASSERT_TRUE(session.run().ok());
  const std::vector<float> y = test::floats(session, 0);
  double worst = 0;
  float at = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    const double exact = wide.exact(static_cast<double>(x[i]));
    if (std::isnan(exact) || std::fabs(exact) > 3.4e38) continue;
    const double error =
        std::fabs(static_cast<double>(y[i]) - exact) / std::max(std::fabs(exact), 1e-37);
    if (error > worst || std::isnan(y[i])) worst = std::isnan(y[i]) ? HUGE_VAL : error, at = x[i];
  }
  EXPECT_LT(worst, 1e-5) << fb::EnumNameUnaryFn(wide.fn) << " of " << at;
}

/// In one mode: all modes use the same shaders.
class VulkanFunctions : public OnVulkan<Mode> {
 protected:
  void SetUp() override { open(GetParam()); }
};
INSTANTIATE_TEST_SUITE_P(Modes, VulkanFunctions, testing::Values(Mode::kAsItIs),
                         [](const auto& test) { return test::mode_name(test.param); });

TEST_P(VulkanFunctions, AreExactOverWideRanges) {
  using Fn = fb::UnaryFn;
  for (const Wide& wide :
       {Wide{Fn::Exp, [](double v) { return std::exp(v); }, -20, 6.4},
        Wide{Fn::Expm1, [](double v) { return std::expm1(v); }, -20, 6.4},
        Wide{Fn::Exp2, [](double v) { return std::exp2(v); }, -20, 6.9},
        Wide{Fn::Log, [](double v) { return std::log(v); }, -126, 127, true},
        Wide{Fn::Log2, [](double v) { return std::log2(v); }, -126, 127, true},
        Wide{Fn::Log1p, [](double v) { return std::log1p(v); }, -20, 127, true},
        Wide{Fn::Tanh, [](double v) { return std::tanh(v); }, -20, 5},
        Wide{Fn::Sinh, [](double v) { return std::sinh(v); }, -20, 6.4},
        Wide{Fn::Cosh, [](double v) { return std::cosh(v); }, -20, 6.4},
        Wide{Fn::Sin, [](double v) { return std::sin(v); }, -20, 10},
        Wide{Fn::Sin, [](double v) { return std::sin(v); }, 13, 127},
        Wide{Fn::Cos, [](double v) { return std::cos(v); }, -20, 10},
        Wide{Fn::Cos, [](double v) { return std::cos(v); }, 13, 127},
        Wide{Fn::Tan, [](double v) { return std::tan(v); }, -20, 5},
        Wide{Fn::Asin, [](double v) { return std::asin(v); }, -20, 0},
        Wide{Fn::Acos, [](double v) { return std::acos(v); }, -20, -0.1},
        Wide{Fn::Atan, [](double v) { return std::atan(v); }, -20, 60},
        Wide{Fn::Erf, [](double v) { return std::erf(v); }, -20, 5},
        Wide{Fn::Sigmoid, [](double v) { return 1 / (1 + std::exp(-v)); }, -20, 6},
        Wide{Fn::Rsqrt, [](double v) { return 1 / std::sqrt(v); }, -100, 100, true}})
    check_wide(wide, options_);
}

}  // namespace
}  // namespace lazyrt
