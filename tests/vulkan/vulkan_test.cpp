// Operators on Vulkan: every conformance case against the reference.

#include <cstring>

#include "platforms/posix/conformance/expectations.h"
#include "runtime/backends/vulkan/one_shot.h"
#include "tests/conformance/case_run.h"
#include "tests/conformance/case_table.h"
#include "tests/conformance/random_cases.h"
#include "tests/support/case_bundle.h"
#include "tests/vulkan/on_vulkan.h"

namespace lazyrt {
namespace {

using test::kModes;
using test::Mode;
using test::new_validation_messages;
using test::OnVulkan;

TEST(VulkanValidation, Reports) {
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
         test::mode_name(test.param.mode);
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

/// Runs single nodes beside the reference.
template <class Param>
class OnNodes : public OnVulkan<Param> {
 protected:
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
      EXPECT_THAT(ran.message(), testing::EndsWith(expected.status.message()));
      for (size_t i = 0; ran.ok() && i < expected.outputs.size(); ++i) {
        const TensorView view = *session->output(i);
        const GuardedTensor actual(view.dtype, view.shape);
        if (view.bytes() != 0) std::memcpy(actual.view().data, view.data, view.bytes());
        const std::string text = difference(expected.outputs[i], actual, c.tolerance);
        if (!text.empty()) return "result " + std::to_string(i) + ": " + text;
      }
    }
    return "";
  }

  /// Runs the case, unless the device refuses it: the result says so.
  Status check(const OpEntry& op, const OpCase& c) {
    SCOPED_TRACE(std::string(op.name) + "/" + c.name +
                 " LAZYRT_SEED=" + std::to_string(conformance_seed()));
    const CaseNode node(op, c, conformance_seed());
    EXPECT_TRUE(node.inferred.ok()) << node.inferred.message();
    test::BundleParts parts;
    test::MethodBuilder b(&parts);
    test::add_case_node(&b, default_ops(), c,
                        [&](size_t operand) { return node.operands[operand].view().data; });
    const test::Loaded loaded(parts, default_ops());
    Result<Session> session = Session::create(loaded.method(), this->options_);
    if (session.ok()) {
      EXPECT_EQ(disagreement(node, c, &*session), "");
      return {};
    }
    EXPECT_EQ(session.status().error(), Error::kUnsupported) << session.status().message();
    return session.status();
  }
};

class VulkanCases : public OnNodes<Part> {
 protected:
  void SetUp() override { open(GetParam().mode); }
};
INSTANTIATE_TEST_SUITE_P(Ops, VulkanCases, testing::ValuesIn(parts()), part_name);

TEST_P(VulkanCases, AgreeWithTheReference) {
  const OpCases& op = *GetParam().op;
  for (size_t i = GetParam().first; i < GetParam().end; ++i) {
    const OpCase& c = op.cases[i];
    const std::string id = std::string(op.op->name) + "/" + c.name;
    const Expectation expected = expectations().of(id);
    const Status refusal = check(*op.op, c);
    const bool is_refused = expected.kind == Expectation::Kind::kUnsupported;
    EXPECT_EQ(!refusal.ok(), is_refused)
        << (is_refused ? "now supported: remove the line of "
                       : "expectations.txt needs the line\nUNSUPPORTED ")
        << id << " " << refusal.message();
  }
}

/// An operator with random cases, at the minimum limits only: the modes treat sizes alike.
class VulkanRandomCases : public OnNodes<const OpEntry*> {
 protected:
  void SetUp() override { open(Mode::kFloor); }
};
std::vector<const OpEntry*> ops_with_random_cases() {
  std::vector<const OpEntry*> out;
  for (const OpCases& op : all_cases()) {
    const bool has_kernel = op.op->kernels[static_cast<size_t>(KernelSlot::kVulkan)] != nullptr;
    if (has_kernel && !random_cases(op.op->kind, 1, 1).empty()) out.push_back(op.op);
  }
  return out;
}
INSTANTIATE_TEST_SUITE_P(Ops, VulkanRandomCases, testing::ValuesIn(ops_with_random_cases()),
                         [](const auto& test) { return std::string(test.param->name); });

TEST_P(VulkanRandomCases, AgreeWithTheReference) {
  for (const OpCase& c : random_cases(GetParam()->kind, 20, conformance_seed()))
    (void)check(*GetParam(), c);
}

}  // namespace
}  // namespace lazyrt
