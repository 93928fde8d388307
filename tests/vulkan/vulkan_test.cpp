// Sessions on Vulkan, in three modes: as the device is, masked to the limits that every device has,
// and with copies through staging memory. The validation layers see everything and say nothing.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <optional>

#include "lazyrt/vulkan.h"
#include "platforms/posix/conformance/expectations.h"
#include "runtime/backends/vulkan/one_shot.h"
#include "tests/conformance/case_run.h"
#include "tests/conformance/case_table.h"
#include "tests/support/case_bundle.h"
#include "tests/support/loaded_bundle.h"
#include "tests/vulkan/validation_log.h"

namespace lazyrt {
namespace {

using test::new_validation_messages;

enum class Mode { kAsItIs, kFloor, kStaging };

VulkanOptions options_of(Mode mode) {
  VulkanOptions options;
  options.mask_to_floor = mode == Mode::kFloor;
  options.force_staging = mode == Mode::kStaging;
  return options;
}
std::string mode_name(Mode mode) {
  return mode == Mode::kAsItIs ? "as_it_is" : mode == Mode::kFloor ? "floor" : "staging";
}
constexpr Mode kModes[] = {Mode::kAsItIs, Mode::kFloor, Mode::kStaging};

/// One backend for each mode, since pipelines are what takes time. Gone before the program ends.
class Backends : public testing::Environment {
 public:
  static Backends& get() {
    static auto* backends = static_cast<Backends*>(testing::AddGlobalTestEnvironment(new Backends));
    return *backends;
  }
  const Result<VulkanBackend>& of(Mode mode) {
    std::optional<Result<VulkanBackend>>& made = made_[static_cast<int>(mode)];
    if (!made) made.emplace(VulkanBackend::create(options_of(mode)));
    return *made;
  }
  bool is_validated() const { return is_validated_; }
  void SetUp() override { is_validated_ = test::begin_validation(); }
  void TearDown() override {
    for (auto& made : made_) made.reset();
    EXPECT_EQ(new_validation_messages(), "");
  }

 private:
  bool is_validated_ = false;
  std::optional<Result<VulkanBackend>> made_[3];
};
Backends& kBackends = Backends::get();

template <class Param>
class OnVulkan : public testing::TestWithParam<Param> {
 protected:
  void open(Mode mode) {
    const Result<VulkanBackend>& made = kBackends.of(mode);
    if (!made.ok() && made.status().error() == Error::kUnsupported)
      GTEST_SKIP() << made.status().message();
    ASSERT_TRUE(made.ok()) << made.status().message();
    options_.backend = made->backend();
  }
  void TearDown() override { EXPECT_EQ(new_validation_messages(), ""); }

  SessionOptions options_;
};

class Vulkan : public OnVulkan<Mode> {
 protected:
  void SetUp() override { open(GetParam()); }
};
INSTANTIATE_TEST_SUITE_P(Modes, Vulkan, testing::ValuesIn(kModes),
                         [](const auto& test) { return mode_name(test.param); });

TEST_P(Vulkan, RunsAChainOfNodes) {
  test::BundleParts parts;
  test::MethodBuilder b(&parts);
  const int x = b.input("x", DType::kFloat32, {3, 7});
  const int y = b.infer(default_ops(), test::relu(), {x});
  b.output("y", y);
  b.output("z", b.infer(default_ops(), test::relu(), {y}));
  const test::Loaded loaded(parts, default_ops());
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
  test::BundleParts parts;
  test::MethodBuilder b(&parts);
  const int x = b.input("x", DType::kInt32, {5});
  const int y = b.input("y", DType::kInt32, {5});
  fb::BinaryT divide;
  divide.fn = fb::BinaryFn::FloorDivide;
  const int sum = b.infer(default_ops(), test::add(), {x, x});
  b.output("z", b.infer(default_ops(), divide, {sum, y}));
  const test::Loaded loaded(parts, default_ops());
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

TEST(VulkanValidation, Reports) {
  if (!kBackends.is_validated()) GTEST_SKIP() << "no validation layers on this machine";
  VulkanDevice device;
  ASSERT_TRUE(Status(device.open({})).ok());
  VulkanBuffer a, b;
  ASSERT_TRUE(Status(device.make_buffer(64, &a)).ok());
  ASSERT_TRUE(Status(device.make_buffer(64, &b)).ok());
  ASSERT_TRUE(Status(copy_now(&device, a.buffer, {0, 0, 64}, b.buffer)).ok());
  EXPECT_EQ(new_validation_messages(), "");
  ASSERT_TRUE(Status(copy_now(&device, a.buffer, {0, 0, 0}, b.buffer)).ok());  // of nothing
  EXPECT_THAT(new_validation_messages(), testing::HasSubstr("size"));
  device.release_buffer(a);
  device.release_buffer(b);
}

TEST(VulkanBackendTest, RefusesADeviceThatIsNotThere) {
  VulkanOptions options;
  options.device = 99;
  const Result<VulkanBackend> made = VulkanBackend::create(options);
  ASSERT_FALSE(made.ok());
  EXPECT_EQ(made.status().error(), Error::kUnsupported);
}

// Cases.

const Expectations& expectations() {
  static std::string error;
  static const Expectations all = Expectations::read(LAZYRT_VULKAN_EXPECTATIONS, &error);
  EXPECT_EQ(error, "");
  return all;
}

/// Some cases of one op in one mode: there are thousands, of milliseconds each.
struct Part {
  Mode mode;
  const OpCases* op;
  size_t first, end;
};
std::string part_name(const testing::TestParamInfo<Part>& test) {
  return std::string(test.param.op->op->name) + "_" + std::to_string(test.param.first) + "_" +
         mode_name(test.param.mode);
}
std::vector<Part> parts() {
  constexpr size_t kCases = 200;
  std::vector<Part> out;
  for (const OpCases& op : all_cases()) {
    if (op.op->kernels[static_cast<size_t>(KernelSlot::kVulkan)] == nullptr) continue;
    for (size_t i = 0; i < op.cases.size(); i += kCases) {
      for (const Mode mode : kModes)
        out.push_back({mode, &op, i, std::min(i + kCases, op.cases.size())});
    }
  }
  return out;
}

class VulkanCases : public OnVulkan<Part> {
 protected:
  void SetUp() override { open(GetParam().mode); }

  /// Empty, or how the session's result differs from the reference's.
  std::string disagreement(const CaseNode& node, const OpCase& c, Session* session) {
    const CaseResult expected = run_kernel(node, node.op.def->reference, nullptr);
    for (int round = 0; round < 2; ++round) {
      size_t input = 0;
      for (size_t i = 0; i < node.operands.size(); ++i) {
        if (!c.operands[i].is_given()) continue;
        const Status set = session->set_input(input++, node.operands[i].view());
        if (!set.ok()) return set.message();
      }
      const Status ran = session->run();
      if (ran.error() != expected.status.error())
        return std::string("status: ") + ran.message() +
               "; reference: " + expected.status.message();
      for (size_t i = 0; ran.ok() && i < expected.outputs.size(); ++i) {
        const TensorView& view = *session->output(i);
        const GuardedTensor actual(view.dtype, view.shape);
        if (view.bytes() != 0) std::memcpy(actual.view().data, view.data, view.bytes());
        const std::string text = difference(expected.outputs[i], actual, c.tolerance);
        if (!text.empty()) return "result " + std::to_string(i) + ": " + text;
      }
    }
    return "";
  }
};
INSTANTIATE_TEST_SUITE_P(Ops, VulkanCases, testing::ValuesIn(parts()), part_name);

TEST_P(VulkanCases, AgreeWithTheReference) {
  const OpCases& op = *GetParam().op;
  for (size_t i = GetParam().first; i < GetParam().end; ++i) {
    const OpCase& c = op.cases[i];
    const std::string id = std::string(op.op->name) + "/" + c.name;
    SCOPED_TRACE(id + " LAZYRT_SEED=" + std::to_string(conformance_seed()));
    const CaseNode node(*op.op, c, conformance_seed());
    ASSERT_TRUE(node.inferred.ok()) << node.inferred.message();
    test::BundleParts parts;
    test::MethodBuilder b(&parts);
    test::add_case_node(&b, default_ops(), c,
                        [&](size_t operand) { return node.operands[operand].view().data; });
    const test::Loaded loaded(parts, default_ops());
    Result<Session> session = Session::create(loaded.method(), options_);
    const Expectation expected = expectations().of(id);
    if (!session.ok()) {
      ASSERT_EQ(session.status().error(), Error::kUnsupported) << session.status().message();
      EXPECT_EQ(expected.kind, Expectation::Kind::kUnsupported)
          << "expectations.txt needs the line\nUNSUPPORTED " << id << " "
          << session.status().message();
      continue;
    }
    EXPECT_NE(expected.kind, Expectation::Kind::kUnsupported) << "now supported: remove its line";
    EXPECT_EQ(disagreement(node, c, &*session), "");
  }
}

}  // namespace
}  // namespace lazyrt
